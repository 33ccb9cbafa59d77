from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from corral.errors import SpecError
from corral.spec.document import read_document
from corral.spec.load import parse_cluster
from corral.spec.schema import json_schema

EXAMPLES = sorted(Path(__file__).parents[3].joinpath("examples").glob("*.yaml"))
VALIDATOR = Draft202012Validator(json_schema())


def test_the_schema_is_a_valid_schema_with_a_title_and_descriptions() -> None:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == "Corral cluster file"
    assert all(section["description"] for section in schema["$defs"].values())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_fits_the_schema(path: Path) -> None:
    assert list(VALIDATOR.iter_errors(read_document(path.read_text()).data)) == []


@pytest.mark.parametrize(
    "text",
    [
        "name: lab\nlocal:\nmachines:\n  node0:\n  node1:\nusers:\n",
        "name: lab\nlocal:\nmachines: {node0: {memory: 64GiB, gpus: {type: 5090, count: 1}}}\n",
        "name: lab\nlocal:\nmachines: {node0: }\npartitions: {p: {max_time: 60}, q: {machines: [node0]}}\n",
        "name: lab\nlocal:\nmachines: {node0: }\nslurm: {conf: {MaxArraySize: 10, Prolog: /p}}\n",
    ],
)
def test_what_the_loader_reads_fits_the_schema(text: str) -> None:
    parse_cluster(text, "c.yaml")
    assert list(VALIDATOR.iter_errors(read_document(text).data)) == []


@pytest.mark.parametrize(
    "text",
    [
        "name: lab\n",
        "name: lab\nmachines: {}\n",
        "name: lab\nlocal:\nmachines: {Node_0: }\n",
        "name: lab\nlocal:\nmachines: {node0: {adress: a}}\n",
        "name: lab\nlocal:\nmachines: {node0: {memory: 64}}\n",
        "name: lab\nlocal:\nmachines: {node0: {roles: [haed]}}\n",
        "name: lab\nlocal:\nmachines: {node0: {gpus: {}}}\n",
        "name: lab\nlocal:\nmachines: {node0: }\nusers: {Ada: }\n",
        "name: lab\nlocal:\nmachines: {node0: }\nssh: {port: '22'}\n",
        "name: lab\nlocal:\nmachines: {node0: }\npartitions: {p: {machines: al}}\n",
        "name: lab\nlocal:\nmachines: {node0: }\nslurm: {conf: {a_b: 1}}\n",
    ],
)
def test_a_wrong_file_fits_neither_the_schema_nor_the_loader(text: str) -> None:
    assert list(VALIDATOR.iter_errors(read_document(text).data))
    with pytest.raises(SpecError):
        parse_cluster(text, "c.yaml")
