"""`corral schema`."""

from __future__ import annotations

from corral.cli.terminal import print_json
from corral.spec.schema import json_schema


def schema() -> None:
    """Print the cluster file's JSON Schema, for editors that complete and check YAML."""
    print_json(json_schema())
