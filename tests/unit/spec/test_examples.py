from __future__ import annotations

from pathlib import Path

import pytest

from corral.spec.load import load_cluster

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize(
    ("name", "head", "compute"),
    [
        ("one-workstation", "node0", ("node0",)),
        ("three-workstations", "node0", ("node0", "node1", "node2")),
        ("dgx-rack", "head", ("dgx1", "dgx2", "dgx3", "dgx4")),
    ],
)
def test_an_example_loads(name: str, head: str, compute: tuple[str, ...]) -> None:
    spec = load_cluster(EXAMPLES / f"{name}.yaml")
    assert spec.head == head
    assert spec.compute_machines == compute


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == {"one-workstation", "three-workstations", "dgx-rack"}
