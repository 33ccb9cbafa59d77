"""Run as fewer ranks than before: continues a training of mode local that more ranks have saved."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from tests.unit.train import small

from corral import train
from corral.inside import files

if __name__ == "__main__":
    run, folder = train.init(), Path(sys.argv[1])
    saved = files.saved_in(folder)[0].load()["state"]["sync"]["state"]["fragments"]
    continued = small.Small(run, small.MODES["local"], folder)
    own = torch.cat([parameter.detach().flatten() for parameter in continued.model.parameters()])
    begins_with_shared = bool(torch.equal(own, torch.cat([fragment["shared"] for fragment in saved])))
    losses = list(continued.losses(small.STEPS + 10))
    sys.stdout.write(json.dumps({"shared": begins_with_shared, "steps": len(losses), "end": continued.end()}))
