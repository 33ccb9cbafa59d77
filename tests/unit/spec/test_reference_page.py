from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from corral.spec import model

PAGE = (Path(__file__).parents[3] / "docs" / "cluster-file.md").read_text()
SECTIONS: dict[str, type[BaseModel]] = {
    "The file": model.ClusterSpec,
    "`machines.<name>`": model.MachineSpec,
    "`machines.<name>.gpus`": model.GpusSpec,
    "`local`": model.LocalSpec,
    "`ssh`": model.SshSpec,
    "`partitions.<name>`": model.PartitionSpec,
    "`storage.shared`": model.SharedStorageSpec,
    "`gpu`": model.GpuSpec,
    "`users.<name>`": model.UserSpec,
    "`users.<name>.limits`": model.LimitsSpec,
    "`slurm`": model.SlurmSpec,
    "`check`": model.CheckSpec,
}


def table(title: str) -> dict[str, str]:
    """The keys of a section's table with their defaults."""
    section = re.split(r"^##+ ", PAGE.split(f"# {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    rows = (line.split("|") for line in section.splitlines() if line.startswith("| `"))
    return {row[1].strip(" `"): row[2].strip() for row in rows}


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_lists_every_key_in_order_with_its_default(title: str) -> None:
    rows = table(title)
    fields = SECTIONS[title].model_fields
    assert list(rows) == list(fields)
    for key, field in fields.items():
        if field.default is PydanticUndefined and field.is_required():
            assert rows[key] == "needed"
        elif isinstance(field.default, str | int):
            assert rows[key].startswith(f"`{str(field.default).lower()}`")


def test_every_model_has_its_section() -> None:
    models = {
        value
        for value in vars(model).values()
        if isinstance(value, type) and issubclass(value, BaseModel) and value.__name__.endswith("Spec")
    }
    # StorageSpec has one key, which the section's title names.
    assert models - set(SECTIONS.values()) == {model.StorageSpec}
