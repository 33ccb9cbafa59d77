from corral.api import Cluster as Cluster
from corral.api import Job as Job
from corral.api import JobFailed as JobFailed
from corral.api import RemoteTraceback as RemoteTraceback
from corral.api import Sweep as Sweep
from corral.api import connect as connect

__version__: str
