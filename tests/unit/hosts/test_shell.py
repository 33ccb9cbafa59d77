"""People's shells on this machine."""

from __future__ import annotations

import asyncio
import os
import pwd
import subprocess

import pytest

from corral.hosts.shell import LocalShell

ME = pwd.getpwuid(os.geteuid()).pw_name


def test_ones_own_shell_is_the_one_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEN", "yes")
    done = asyncio.run(LocalShell(ME).run('id -un; echo "$SEEN"; cat', stdin=b"input"))
    assert done.stdout == f"{ME}\nyes\ninput"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_root_becomes_somebody_else_with_nothing_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "root's")
    script = 'id -un; id -Gn; echo "[$SECRET]"; tr "\\0" " " < /proc/$$/cmdline | grep -c "it\'s quoted"; cat'
    done = asyncio.run(LocalShell("nobody").run(script, stdin=b"input 'quoted'\n"))
    groups = subprocess.check_output(["id", "-Gn", "nobody"], text=True)
    assert done.stdout == f"nobody\n{groups}[]\n0\ninput 'quoted'\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
def test_somebody_who_does_not_exist_is_a_failure_with_words() -> None:
    done = asyncio.run(LocalShell("no-such-person").run("echo ran"))
    assert not done.ok
    assert "ran" not in done.stdout
    assert "no-such-person" in done.last_words()


def test_a_service_is_reached_where_it_is() -> None:
    async def reached() -> object:
        async with LocalShell(ME).reach("10.77.0.10", 6820) as endpoint:
            return endpoint

    assert asyncio.run(reached()) == ("10.77.0.10", 6820)
