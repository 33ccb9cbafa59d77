"""Corral on the machines: for the commands of people there, for the head's keeper, and inside jobs.

Each version is a folder of its own and `current` leads to the one in use, so that whoever reads finds the
old one or the new one, and always a whole one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import corral
from corral.deploy.cluster import Cluster, Node
from corral.deploy.program import Program, program
from corral.deploy.step import Change, Step
from corral.deploy.templates import render

FOLDER = "/opt/corral"
COMMAND = "/usr/local/bin/corral"
VERSION = f"{FOLDER}/current/VERSION"
"""A file that differs from version to version, for whoever must know of a change."""

# An operator's own installation may have the command's name already: it can do all that ours can.
_SHELL = """
theirs() {{ [ -e {command} ] && ! grep -q 'Written by Corral' {command}; }}
"""
_LOOK = (
    _SHELL
    + """
cd {folder}/current 2>/dev/null || {{ echo "it is not there"; exit; }}
sums=$(find lib vendor -type f ! -name '*.pyc' -print0 2>/dev/null | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum)
[ "$sums" = "{digest}  -" ] && [ "$(cat VERSION 2>/dev/null)" = {digest} ] || echo "it is another version"
tag=$(readlink /usr/bin/python3 | tr -dc 0-9)
[ -e lib/corral/__pycache__/__init__.cpython-$tag.pyc ] || echo "it is compiled for another Python"
[ -d {folder}/lib/corral ] && [ -d {folder}/vendor ] || echo "it is not where jobs look for it"
theirs || [ "$(sha256sum < {command} 2>/dev/null)" = "{command_sum}  -" ] || echo "{command} differs"
"""
)
# Compiled here, once: people may not write Python's caches, and without them every command starts slowly.
_ACT = (
    _SHELL
    + """
umask 022; mkdir -p {folder} && cd {folder} || exit 1
new=$(mktemp -d {short}.XXXXXX) && chmod 755 $new && tar -xz --no-same-owner -C $new || exit 1
/usr/bin/python3 -m compileall -q -s $new -p {folder} $new/lib $new/vendor || exit 1
echo {digest} > $new/VERSION
lead() {{ ln -sfn $2 .link && mv -T .link $1; }} # by a rename, which no reader can come between
lead current $new && lead lib current/lib && lead vendor current/vendor || exit 1
find . -mindepth 1 -maxdepth 1 -type d ! -name $new -exec rm -rf {{}} +
theirs && exit 0
cat > .command <<'END_OF_COMMAND'
{command_text}END_OF_COMMAND
chmod 755 .command && mv .command {command}
"""
)


@dataclass(frozen=True, slots=True)
class Shipment:
    """A step that keeps this very program on the machine."""

    program: Program
    folder: str = FOLDER
    command: str = COMMAND
    name: str = "program"
    after: tuple[str, ...] = ("packages",)

    def probe(self) -> str:
        return _LOOK.format(**self._values())

    def diff(self, observed: str) -> Change | None:
        flaws = observed.strip()
        if not flaws:
            return None
        script = _ACT.format(**self._values())
        return Change(f"bring Corral {corral.__version__}", script, self.program.payload, detail=flaws, timeout_s=120)

    def _values(self) -> dict[str, str]:
        text = render(COMMAND, folder=self.folder)
        return {
            "folder": self.folder,
            "digest": self.program.digest,
            "short": self.program.digest[:12],
            "command": self.command,
            "command_text": text.decode(),
            "command_sum": hashlib.sha256(text).hexdigest(),
        }


def steps(_cluster: Cluster, _node: Node) -> list[Step]:
    return [Shipment(program())]
