"""Training that pays on slow links: runs inside jobs, on the person's own torch.

from corral import train

run = train.init()
sync = train.Synchronizer(model, optimizer, mode="auto")
model = sync.model  # the loop stays as it is
"""

from corral.train.lanes import Lanes
from corral.train.start import Run, init
from corral.train.sync import MODES, Synchronizer

__all__ = ["MODES", "Lanes", "Run", "Synchronizer", "init"]
