"""The table of commands: every entry leads to a command, and none is loaded before it is wanted."""

from __future__ import annotations

import subprocess
import sys

import pytest

from corral.cli.commands import COMMANDS

HEAVY = ("asyncssh", "jinja2", "pydantic", "yaml")


def run(*args: str, without: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """`corral` in a Python that lacks these libraries; what it loaded comes last on stderr."""
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({without!r})); sys.argv = ['corral', *{args!r}]\n"
        "from corral.cli.main import main\n"
        "try: main()\n"
        "finally: print('loaded:', *sys.modules, file=sys.stderr)\n"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_help_lists_every_command_without_loading_any() -> None:
    done = run("--help", without=HEAVY)
    assert done.returncode == 0, done.stderr
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)
    loaded = done.stderr.rpartition("loaded:")[2].split()
    assert not {f"corral.cli.{name}" for name in COMMANDS} & set(loaded)
    assert "rich" not in loaded


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_of_its_own(name: str) -> None:
    done = run(name, "-h")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: corral {name}")


def test_a_command_of_the_operator_says_on_a_machine_where_it_belongs() -> None:
    done = run("up", without=HEAVY)
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("loaded:")]
    assert line.startswith("error: this command belongs on the operator's computer")


def test_a_near_miss_is_answered_with_the_nearest_command() -> None:
    assert "Did you mean 'status'?" in run("statu").stderr
