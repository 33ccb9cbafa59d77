"""Corral itself as the machines get it: this very package, and the libraries of the commands that people use there.

Only pure Python travels, so that one archive fits every machine. What only an operator needs (SSH, YAML,
pydantic) stays at home.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import corral

# By distribution: the package in it. rich's Markdown and code views would need more, so no command shows them.
_LIBRARIES = {
    "annotated-doc": "annotated_doc",
    "cloudpickle": "cloudpickle",
    "rich": "rich",
    "shellingham": "shellingham",
    "typer": "typer",
}


@dataclass(frozen=True)
class Program:
    """Files by their path below the folder that they are unpacked to."""

    files: Mapping[str, bytes] = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """The checksum of the list of checksums that `sha256sum` prints of all files in the order of their paths."""
        lines = (f"{hashlib.sha256(self.files[path]).hexdigest()}  {path}\n" for path in self._paths)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @cached_property
    def payload(self) -> bytes:
        """A compressed tar archive: the same bytes for the same files, whoever makes it."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for path in self._paths:
                member = tarfile.TarInfo(path)
                member.mtime = 1  # tar finds fault with 0
                member.size = len(self.files[path])
                tar.addfile(member, io.BytesIO(self.files[path]))
        return gzip.compress(archive.getvalue(), mtime=0)

    @property
    def _paths(self) -> list[str]:
        return sorted(self.files, key=str.encode)


@cache
def program() -> Program:
    """The program that runs now; read once per run, however many machines get it."""
    files = dict(_package("corral", Path(corral.__file__).parent, "lib"))
    for name, package in _LIBRARIES.items():
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        files |= _package(package, Path(spec.origin).parent, "vendor")
        files |= _licences(name)
    return Program(files)


def _package(name: str, folder: Path, below: str) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"{below}/{name}/{path.relative_to(folder).as_posix()}", path.read_bytes()


def _licences(name: str) -> dict[str, bytes]:
    """Whoever passes a library on passes its licence on."""
    found = [file for file in distribution(name).files or () if "LICEN" in file.name.upper()]
    return {f"vendor/{file.as_posix()}": Path(str(file.locate())).read_bytes() for file in found}
