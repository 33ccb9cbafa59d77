"""A cluster as the text of a cluster file."""

from __future__ import annotations

import yaml

from corral.spec.model import ClusterSpec

# Beyond any public key: a line that is never broken can be found and copied.
_WIDTH = 100_000


def dump_cluster(spec: ClusterSpec) -> str:
    """YAML that reads back as an equal cluster; what has its default is left out."""
    data = spec.model_dump(mode="json", exclude_defaults=True)
    # None puts the innermost sections and lists on one line each, as people write them.
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=_WIDTH, allow_unicode=True)
