"""Running things on this machine."""

from __future__ import annotations

import asyncio
from pathlib import Path

from corral.hosts.local import LocalHost, run


def test_a_script_reads_its_own_input_and_shows_in_no_argument_list() -> None:
    script = "cat /proc/$$/cmdline | tr '\\0' ' '; echo; cat"
    done = asyncio.run(LocalHost().run(script, stdin=b"payload"))
    arguments, _, rest = done.stdout.partition("\n")
    assert "cmdline" not in arguments
    assert "payload" not in arguments
    assert rest == "payload"


def test_a_failure_is_a_result_with_its_last_words() -> None:
    done = asyncio.run(LocalHost().run("echo no space left >&2; exit 3"))
    assert (done.exit_code, done.last_words()) == (3, "no space left")


def test_a_script_past_its_time_is_killed_with_its_children(tmp_path: Path) -> None:
    done = asyncio.run(run(["sh", "-c", f"sleep 60 & echo $! > {tmp_path}/pid; wait"], timeout_s=0.5))
    assert done.exit_code == 124
    child = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_input_that_is_never_read_is_no_error() -> None:
    assert asyncio.run(LocalHost().run("exit 0", stdin=b"x" * 1_000_000)).ok


def test_lines_of_any_length_come_back_whole_and_one_by_one() -> None:
    seen: list[str] = []
    script = "head -c 300000 /dev/zero | tr '\\0' x; echo; printf 'short\\n\\nno end'"
    done = asyncio.run(LocalHost().run(script, on_line=seen.append))
    assert done.stdout == "x" * 300_000 + "\nshort\n\nno end"
    assert seen == ["x" * 300_000, "short", "", "no end"]


def test_a_held_script_ends_with_its_context(tmp_path: Path) -> None:
    async def go() -> str:
        async with LocalHost().hold(f"echo first; cat > /dev/null; touch {tmp_path}/ended") as line:
            assert not (tmp_path / "ended").exists()
            return line

    assert asyncio.run(go()) == "first"
    assert (tmp_path / "ended").exists()
