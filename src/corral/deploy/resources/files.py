"""Files with a given content, owner and mode."""

from __future__ import annotations

import base64
import difflib
import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from corral.deploy.step import Change

_PUT = r"""
umask 077
put() { # size owner mode path
  dir=$(dirname "$4")
  [ -d "$dir" ] || (umask 022; mkdir -p "$dir")
  new=$(mktemp "$dir/.corral.XXXXXX")
  head -c "$1" > "$new" && chown "$2" "$new" && chmod "$3" "$new" || { rm -f "$new"; return 1; }
  # A rename shows readers the old file or the new one; a container's bind-mounted file cannot be renamed over.
  mv -f "$new" "$4" 2>/dev/null || { cat "$new" > "$4" && rm -f "$new"; }
}
"""


@dataclass(frozen=True, slots=True)
class File:
    """One file. A secret's content is compared by hash on the machine and never shown."""

    path: str
    content: bytes = field(repr=False)
    owner: str = "root:root"
    mode: int = 0o644
    secret: bool = False

    def look(self) -> str:
        """Print `owner mode size-limited content or hash`, or `absent`."""
        path = shlex.quote(self.path)
        content = f"sha256sum < {path}" if self.secret else f"base64 < {path}"
        return (
            f"if [ -f {path} ]; then stat -c '%U:%G %a' {path}; {content} | tr -d '\\n'; echo; "
            f"else echo absent; echo; fi"
        )

    def differs(self, state: str, content: str) -> str:
        """Why the file on the machine is not this one, in a few words; empty when it is."""
        if state == "absent":
            return "absent"
        owner, _, mode = state.partition(" ")
        if self.secret:
            same = content.split()[0] == hashlib.sha256(self.content).hexdigest()
        else:
            same = base64.b64decode(content) == self.content
        if not same:
            return "content"
        if owner != self.owner:
            return f"owner {owner}"
        return "" if int(mode, 8) == self.mode else f"mode {mode}"

    def shown_diff(self, content: str) -> str:
        """A unified diff from what is there to what is wanted, for files without secrets."""
        if self.secret:
            return ""
        old = base64.b64decode(content).decode(errors="replace").splitlines()
        new = self.content.decode(errors="replace").splitlines()
        return "\n".join(difflib.unified_diff(old, new, self.path, self.path, lineterm="", n=1))


@dataclass(frozen=True, slots=True)
class Files:
    """A step that keeps a set of files; all of them are looked at and written in one go."""

    name: str
    files: Sequence[File]
    after: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    """Paths that must not exist."""
    then: str = ""
    """A script to run after writing."""

    def probe(self) -> str:
        looks = [file.look() for file in self.files]
        looks += [f"[ ! -e {shlex.quote(path)} ] && echo gone || echo there" for path in self.absent]
        return "\n".join(looks)

    def diff(self, observed: str) -> Change | None:
        lines = observed.strip("\n").split("\n") if observed.strip() else []
        lines += [""] * (2 * len(self.files) - len(lines))
        states = {file: (lines[2 * i], lines[2 * i + 1]) for i, file in enumerate(self.files)}
        wrong = {file: why for file, found in states.items() if (why := file.differs(*found))}
        left = [
            path for path, state in zip(self.absent, lines[2 * len(self.files) :], strict=False) if state == "there"
        ]
        if not wrong and not left:
            return None
        puts = [
            f"put {len(file.content)} {file.owner} {file.mode:o} {shlex.quote(file.path)} || exit 1" for file in wrong
        ]
        removals = [f"rm -f {shlex.quote(path)}" for path in left]
        words = [f"write {file.path} ({why})" for file, why in wrong.items()]
        words += [f"remove {path}" for path in left]
        return Change(
            summary=", ".join(words),
            script="\n".join([_PUT, *puts, *removals, self.then]),
            stdin=b"".join(file.content for file in wrong),
            detail="\n".join(filter(None, (file.shown_diff(states[file][1]) for file in wrong))),
        )
