"""Files with a given content, owner and mode."""

from __future__ import annotations

import base64
import difflib
import hashlib
import shlex
from collections.abc import Mapping, Sequence
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
        content = f"sha256sum < {path}" if self.secret else f"base64 -w0 {path}; echo"
        return f"if [ -f {path} ]; then stat -c '%U:%G %a' {path}; {content}; else echo absent; echo; fi"

    def repair(self, state: str, content: str) -> str:
        """What to do to the file on the machine, as a verb; empty when it is as wanted."""
        if state == "absent":
            return "create"
        owner, _, mode = state.partition(" ")
        if self.secret:
            same = content.split()[0] == hashlib.sha256(self.content).hexdigest()
        else:
            same = base64.b64decode(content) == self.content
        if not same:
            return "rewrite"
        return "" if owner == self.owner and int(mode, 8) == self.mode else "correct owner and mode of"

    def shown_diff(self, content: str) -> str:
        """A unified diff from what is there to what is wanted, for files without secrets."""
        if self.secret:
            return ""
        old = base64.b64decode(content).decode(errors="replace")
        return text_diff(old, self.content.decode(errors="replace"), self.path)


def text_diff(old: str, new: str, path: str) -> str:
    """A unified diff for people."""
    return "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="", n=1))


def write_files(files: Sequence[File], summary: str, *, detail: str = "", then: str = "") -> Change:
    """The change that replaces these files, each by a rename."""
    puts = [f"put {len(file.content)} {file.owner} {file.mode:o} {shlex.quote(file.path)} || exit 1" for file in files]
    return Change(summary, "\n".join([_PUT, *puts, then]), b"".join(file.content for file in files), detail)


@dataclass(frozen=True, slots=True)
class Files:
    """A step that keeps a set of files; all of them are looked at and written in one go."""

    name: str
    files: Sequence[File]
    after: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    """Paths that must not exist."""

    def probe(self) -> str:
        looks = [file.look() for file in self.files]
        looks += [f"[ ! -e {shlex.quote(path)} ] && echo gone || echo there" for path in self.absent]
        return "\n".join(looks)

    def diff(self, observed: str) -> Change | None:
        lines = observed.strip("\n").split("\n") if observed.strip() else []
        lines += [""] * (2 * len(self.files) - len(lines))
        states = {file: (lines[2 * i], lines[2 * i + 1]) for i, file in enumerate(self.files)}
        wrong = {file: why for file, found in states.items() if (why := file.repair(*found))}
        left = [
            path for path, state in zip(self.absent, lines[2 * len(self.files) :], strict=False) if state == "there"
        ]
        if not wrong and not left:
            return None
        words = [f"{verb} {', '.join(paths)}" for verb, paths in _by_verb(wrong).items()]
        words += [f"remove {', '.join(left)}"] if left else []
        detail = "\n".join(filter(None, (file.shown_diff(states[file][1]) for file in wrong)))
        removals = "\n".join(f"rm -f {shlex.quote(path)}" for path in left)
        return write_files(list(wrong), "; ".join(words), detail=detail, then=removals)


def _by_verb(wrong: Mapping[File, str]) -> dict[str, list[str]]:
    verbs: dict[str, list[str]] = {}
    for file, why in wrong.items():
        verbs.setdefault(why, []).append(file.path)
    return verbs
