"""Every step of a deployment, one file per subject.

A module here offers `steps(cluster, node) -> list[Step]`: what must be true on that machine, given its roles.
Modules are found by being here; the order in which steps run comes from their `after` alone.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache

from corral.deploy.cluster import Cluster, Node
from corral.deploy.step import Step

StepsOf = Callable[[Cluster, Node], list[Step]]


@cache
def subjects() -> tuple[StepsOf, ...]:
    """The `steps` function of every module in this package."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(importlib.import_module(f"{__name__}.{name}").steps for name in names)


def steps_for(cluster: Cluster, node: Node) -> list[Step]:
    """All that must be true on one machine."""
    return [step for steps in subjects() for step in steps(cluster, node)]
