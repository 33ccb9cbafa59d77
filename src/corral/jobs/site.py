"""What a machine of the cluster tells those who start jobs on it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from corral.errors import InputError

SITE_FILE = "/etc/corral/site.json"


@dataclass(frozen=True, slots=True)
class Site:
    """Where jobs live on a cluster and where its REST service answers."""

    cluster: str
    head: str
    rest_address: str
    rest_port: int
    jobs: str
    """The folder of all jobs, which every machine sees."""


def parse_site(text: str) -> Site:
    """The site from its file."""
    data = json.loads(text)
    if "jobs" not in data:
        raise InputError(
            f"the cluster {data['cluster']} has no folder that all its machines see, so jobs have nowhere to live. "
            "Try: storage.shared in the cluster file, then corral up"
        )
    address, _, port = data["rest"].rpartition(":")
    return Site(data["cluster"], data["head"], address.strip("[]"), int(port), data["jobs"])
