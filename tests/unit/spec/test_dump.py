from __future__ import annotations

from pathlib import Path

import pytest

from corral.spec.dump import dump_cluster
from corral.spec.load import load_cluster, parse_cluster
from corral.spec.local import local_cluster
from corral.spec.model import ClusterSpec

EXAMPLES = sorted(Path(__file__).parents[3].joinpath("examples").glob("*.yaml"))


def test_only_what_differs_from_its_default_is_written() -> None:
    assert dump_cluster(local_cluster("lab", 2, {"link": "2.5gbit"})) == (
        "name: lab\nmachines:\n  node0: {}\n  node1: {}\nlocal: {link: 2.5gbit}\nstorage: {}\n"
        "users:\n  researcher: {}\n"
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_survives_being_written_and_read(path: Path) -> None:
    spec = load_cluster(path)
    assert parse_cluster(dump_cluster(spec), "dump") == spec


def test_awkward_values_survive_being_written_and_read() -> None:
    spec = parse_cluster(
        "name: no\nlocal: {gpu_type: 010}\n"
        "machines: {on: {memory: 1.3KiB}, off: {memory: 1.5TiB, gpus: {type: 5090, count: 0}}, 1e3: }\n"
        "partitions: {p: {max_time: 12:30:00}, q: {max_time: 60, machines: [on]}}\n"
        "slurm: {conf: {A: 3, B: '4', C: 0.5, D: 'no', E: 'a: [b], {c}'}}\n",
        "c.yaml",
    )
    assert parse_cluster(dump_cluster(spec), "dump") == spec
    assert ClusterSpec.model_validate_json(spec.model_dump_json()) == spec
