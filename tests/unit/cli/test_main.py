"""The command line's manners: one clear error, the right exit code, nothing half-done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CORRAL = Path(sys.executable).parent / "corral"


def corral(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CORRAL_STATE": str(cwd / "state")}
    return subprocess.run([CORRAL, *args], cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_every_mistake_in_the_cluster_file_is_a_line_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("name: lab\nmachines:\n  node0: {adress: 192.0.2.1, roles: [haed]}\n")
    done = corral("plan", cwd=tmp_path)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) >= 2
    assert all(line.startswith("error: cluster.yaml:3:") for line in lines)
    assert "did you mean 'address'?" in done.stderr
    assert "did you mean 'head'?" in done.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["status"], "there is no cluster.yaml here"),
        (["up", "--cluster", "missing.yaml"], "missing.yaml: there is no such file"),
        (["up", "--local", "2", "--release", "sid"], "valid choices: bookworm, trixie, forky"),
        (["up", "--local", "2", "--link", "fast"], "link"),
        (["up", "--local", "2", "--cluster", "x.yaml"], "leave out --cluster"),
        (["up", "--local", "0"], "--local"),
        (["frobnicate"], "No such command"),
        (["init"], "Missing argument"),
        (["init", "no host"], "write [user@]host[:port]"),
        (["init", "192.0.2.1", "--output", "."], "exists already; --force writes over it"),
    ],
)
def test_bad_input_is_one_clear_error_with_exit_code_2(tmp_path: Path, args: list[str], message: str) -> None:
    done = corral(*args, cwd=tmp_path)
    assert done.returncode == 2, done
    assert message in done.stderr
    assert not (tmp_path / "state" / "clusters").exists()


def test_an_unreachable_head_is_named_and_nothing_is_done(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("name: lab\nmachines:\n  node0: {address: 127.0.0.1, port: 1}\n")
    done = corral("up", cwd=tmp_path)
    assert done.returncode == 1
    assert "node0" in done.stderr
    assert "127.0.0.1:1" in done.stderr


def test_init_has_one_error_for_each_host_that_does_not_answer_and_writes_nothing(tmp_path: Path) -> None:
    done = corral("init", "127.0.0.1:1", "ada@127.0.0.1:2", cwd=tmp_path)
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith("error: 127.0.0.1:1: no SSH at ")
    assert second.startswith("error: ada@127.0.0.1:2: no SSH at ada@127.0.0.1:2")
    assert not (tmp_path / "cluster.yaml").exists()


def test_schema_and_version_print_what_programs_read(tmp_path: Path) -> None:
    assert json.loads(corral("schema", cwd=tmp_path).stdout)["title"]
    assert corral("version", cwd=tmp_path).stdout.startswith("corral ")
