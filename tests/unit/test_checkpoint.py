"""Checkpoints, with real processes that are really stopped and killed."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from tests.unit.inside.scripts import STEPPING, run, start

from corral import checkpoint
from corral.inside import files, randomness


def checkpoints(job: Path) -> list[Path]:
    return sorted((job / "checkpoint").iterdir())


def stopped(job: Path) -> None:
    script = start(STEPPING, job)
    script.wait_for("ready")
    script.step()
    script.stop(signal.SIGTERM)
    assert script.end()[0] == checkpoint.AGAIN


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_a_run_that_was_warned_ends_with_85_and_continues_exactly(tmp_path: Path, number: signal.Signals) -> None:
    _, whole, _ = run(STEPPING, tmp_path / "whole")
    script = start(STEPPING, tmp_path)
    script.wait_for("ready")
    lines = [script.step(), script.step(), *script.stop(number)]
    code, _, said = script.end()
    assert code == 85
    assert f"corral: stopped by {number.name} at step {len(lines)}; the job goes back to the queue" in said

    code, rest, said = run(STEPPING, tmp_path)
    assert code == 0
    assert f"corral: continued at step {len(lines)} from {tmp_path}/checkpoint/" in said
    assert ["ready", *lines, *rest.splitlines()[1:]] == whole.splitlines()


def test_signals_that_come_while_it_ends_do_not_change_the_exit_code(tmp_path: Path) -> None:
    for run_number in range(5):
        script = start(STEPPING, tmp_path / str(run_number))
        script.wait_for("ready")
        script.process.send_signal(signal.SIGTERM)
        script.step()
        while script.process.poll() is None:
            script.process.send_signal(signal.SIGTERM)
        assert script.process.returncode == 85


def test_a_warning_before_the_first_step_waits_for_it_so_that_every_run_makes_progress(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        script = start(STEPPING, tmp_path)
        script.wait_for("ready")
        script.stop(signal.SIGTERM)
        code, _, said = script.end()
        assert code == 85
        assert f"corral: saved step {step} " in said


def test_a_run_that_could_save_nothing_fails_instead_of_asking_for_another(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("in the way")
    script = start(STEPPING, tmp_path)
    script.wait_for("ready")
    script.stop(signal.SIGTERM)
    code, _, said = script.end()
    assert code == 1
    assert "corral: could not save a checkpoint at step 1: " in said
    assert "this run could save nothing, so it is not queued again" in said


# The second step's checkpoint is killed after its first megabyte, before its end.
SLOW_WRITER = """
    import os, sys
    from corral import checkpoint
    class Slow:
        def __reduce__(self):
            if state.step == 2 and os.environ.get("SLOW"):
                unfinished, = [name for name in os.listdir(folder) if name.startswith(".writing")]
                print("writing", os.path.getsize(f"{folder}/{unfinished}"), flush=True)
                sys.stdin.readline()
            return Slow, ()
    folder = os.environ["CORRAL_JOB_DIR"] + "/checkpoint"
    state = checkpoint.restore({"large": bytes(1_000_000), "slow": Slow()}, every_s=0)
    for step in state.steps(3):
        pass
"""


def test_a_writer_killed_in_the_middle_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    script = start(SLOW_WRITER, tmp_path, SLOW="1")
    writing, size = script.line().split()
    assert writing == "writing"
    assert int(size) > 0
    script.process.kill()
    script.process.wait()
    assert len(checkpoints(tmp_path)) == 2  # step 1, and what was being written

    code, _, said = run(SLOW_WRITER, tmp_path)
    assert code == 0
    assert "corral: continued at step 1 from" in said
    assert [path.name[:10] for path in checkpoints(tmp_path)] == ["0000000002", "0000000003"]


@pytest.mark.parametrize("damage", ["cut", "empty", "changed", "longer"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(tmp_path: Path, damage: str) -> None:
    stopped(tmp_path)
    stopped(tmp_path)
    older, newer = checkpoints(tmp_path)
    content = newer.read_bytes()
    middle = len(content) // 2
    newer.write_bytes(
        {
            "cut": content[:-1],
            "empty": b"",
            "changed": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
            "longer": content + b"\0",
        }[damage]
    )
    code, output, said = run(STEPPING, tmp_path)
    assert code == 0
    assert f"corral: skipped {newer}: it is damaged" in said
    step = int(older.name[:10])
    assert f"corral: continued at step {step} from {older}" in said
    assert output.splitlines()[1].startswith(f"{step} ")
    assert newer not in checkpoints(tmp_path)


def test_if_every_checkpoint_is_damaged_the_run_starts_anew(tmp_path: Path) -> None:
    stopped(tmp_path)
    checkpoints(tmp_path)[0].write_bytes(b"")
    _, output, said = run(STEPPING, tmp_path)
    assert "corral: skipped" in said
    assert output.splitlines()[1].startswith("0 ")


def test_a_whole_checkpoint_that_does_not_load_is_an_error_and_not_a_fresh_start(tmp_path: Path) -> None:
    script = """
        from corral import checkpoint
        class Mine: pass
        for step in checkpoint.restore({"mine": Mine()}).steps(1): pass
    """
    assert run(script, tmp_path)[0] == 0
    before = checkpoints(tmp_path)
    code, _, said = run(script.replace("Mine", "Other"), tmp_path)
    assert code == 1
    assert "Mine" in said
    assert checkpoints(tmp_path) == before


class Model:
    """Has its state as models have it."""

    def __init__(self, weight: float = 0.0) -> None:
        self.weight = weight

    def state_dict(self) -> dict[str, Any]:
        return {"weight": self.weight}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.weight = state["weight"]


def test_objects_and_containers_that_the_script_holds_are_brought_back_in_place(tmp_path: Path) -> None:
    first = checkpoint.State({"model": Model(3.0), "losses": [1, 2], "best": {"a": 1}, "note": "x"}, tmp_path, 0)
    first.save()
    model, losses, best = Model(), [9, 9, 9], {"b": 2}
    state = checkpoint.State({"model": model, "losses": losses, "best": best, "note": ""}, tmp_path, 0)
    state._continue()
    assert (model.weight, losses, best, state["note"]) == (3.0, [1, 2], {"a": 1}, "x")
    assert state["losses"] is losses


class Own(Model):
    """Also has something that every rank writes itself."""

    own: float | None = 0.0

    def rank_state_dict(self) -> dict[str, Any]:
        return {"own": self.own}

    def load_rank_state_dict(self, state: dict[str, Any] | None) -> None:
        self.own = None if state is None else state["own"]


def test_what_a_rank_alone_has_is_in_a_file_of_its_own_and_comes_back(tmp_path: Path) -> None:
    saved = Own(3.0)
    saved.own = 5.0
    checkpoint.State({"model": saved}, tmp_path, 0).save()
    assert sorted(path.suffixes[-2] for path in tmp_path.iterdir() if ".rank" in path.name) == [".rank0"]
    model = Own()
    checkpoint.State({"model": model}, tmp_path, 0)._continue()
    assert (model.weight, model.own) == (3.0, 5.0)


def test_a_checkpoint_with_a_damaged_part_is_skipped_and_old_parts_go_with_their_checkpoints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Own()
    state = checkpoint.State({"model": model}, tmp_path, 3600)
    for step in range(4):
        model.own = float(step)
        state.advance()
        state.save()
    parts = sorted(tmp_path.glob("*.rank0.*"))
    assert [path.name[:10] for path in parts] == ["0000000003", "0000000004"]
    parts[1].write_bytes(b"")
    again = Own()
    continued = checkpoint.State({"model": again}, tmp_path, 3600)
    continued._continue()
    assert (continued.step, again.own) == (3, 2.0)
    assert "a rank's part is damaged or missing" in capsys.readouterr().err


def test_on_another_number_of_ranks_nobody_gets_anothers_part(tmp_path: Path) -> None:
    checkpoint.State({"model": Own(3.0)}, tmp_path, 0).save()
    (saved,) = files.saved_in(tmp_path)
    content = saved.load()
    files.save(tmp_path, 7, content | {"ranks": content["ranks"] * 2})
    model = Own()
    checkpoint.State({"model": model}, tmp_path, 0)._continue()
    assert (model.weight, model.own) == (3.0, None)


def test_a_checkpoint_that_does_not_fit_says_how_to_start_anew(tmp_path: Path) -> None:
    checkpoint.State({"model": 7}, tmp_path, 0).save()
    with pytest.raises(RuntimeError, match=f"does not fit the script: .*To start anew, remove {tmp_path}"):
        checkpoint.State({"model": Model()}, tmp_path, 0)._continue()


def test_a_name_that_was_not_registered_is_refused_because_it_would_not_be_saved(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="registered: model"):
        checkpoint.State({"model": 1}, tmp_path, 0)["modle"] = 2


# Two epochs over a loader that draws its order when a pass begins, as a shuffling DataLoader does.
EPOCHS = """
    import os, random, signal
    from corral import checkpoint
    class Shuffled:
        def __iter__(self):
            return iter(random.sample(range(4), 4))
        def __len__(self):
            return 4
    def draw(*what):
        global drawn
        print(*what, random.random())
        drawn += 1
        if drawn == int(os.environ.get("STOP_AFTER", "0")):
            os.kill(os.getpid(), signal.SIGTERM)
    drawn = 0
    random.seed(1)
    state = checkpoint.restore({})
    for epoch in state.epochs(2):
        for batch in state.batches(Shuffled()):
            draw(epoch, batch)
        draw(epoch, "validated")
"""


def test_a_run_stopped_anywhere_in_an_epoch_goes_on_with_the_batches_that_are_left(tmp_path: Path) -> None:
    _, whole, _ = run(EPOCHS, tmp_path / "whole")
    assert len(whole.splitlines()) == 10
    for stop_after in range(1, 11):
        job = tmp_path / str(stop_after)
        code, begun, _ = run(EPOCHS, job, STOP_AFTER=str(stop_after))
        assert (code, len(begun.splitlines())) == (85, stop_after)
        assert begun + run(EPOCHS, job)[1] == whole


@pytest.mark.parametrize(("rank", "ranks", "batch"), [(1, 2, 6), (0, 3, 4), (2, 3, 4), (0, 1, 12)])
def test_the_place_in_an_epoch_is_kept_when_the_number_of_ranks_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: int, ranks: int, batch: int
) -> None:
    random_states = {"random": randomness.capture(), "epoch_random": randomness.capture()}
    position = {"step": 6, "epoch": 0, "batch": 6, "points": 6}
    files.save(tmp_path, 6, {"position": position, "ranks": [random_states] * 2, "state": {}})
    # Before torch.distributed is set up the launcher's word counts.
    monkeypatch.setenv("RANK", str(rank))
    monkeypatch.setenv("WORLD_SIZE", str(ranks))
    state = checkpoint.State({}, tmp_path, 3600)
    state._continue()
    assert next(state.batches(range(100))) == batch


def test_two_passes_in_one_epoch_are_refused_because_their_place_would_be_lost(tmp_path: Path) -> None:
    state = checkpoint.State({}, tmp_path, 3600)
    assert list(state.batches("ab")) == ["a", "b"]
    with pytest.raises(RuntimeError, match=r"state\.epochs"):
        next(state.batches("ab"))


def test_a_loop_that_steps_does_not_fit_says_when_a_step_is_done(tmp_path: Path) -> None:
    script = """
        from corral import checkpoint
        state = checkpoint.restore({}, every_s=0)
        while state.step < 3:
            state.advance()
    """
    assert "corral: saved step 3 " in run(script, tmp_path)[2]


def test_checkpoints_are_saved_when_the_interval_has_passed_and_at_the_end(tmp_path: Path) -> None:
    for every_s, saves in ((0, 5), (3600, 1)):
        script = f"""
            from corral import checkpoint
            for step in checkpoint.restore({{}}, every_s={every_s}).steps(5): pass
        """
        assert run(script, tmp_path / str(every_s))[2].count("corral: saved step") == saves
    assert [path.name[:10] for path in checkpoints(tmp_path / "0")] == ["0000000004", "0000000005"]


def test_outside_of_a_job_nothing_is_saved_and_one_line_says_so() -> None:
    code, output, said = run(STEPPING, None)
    assert (code, len(output.splitlines())) == (0, 201)
    assert said == "corral: not in a job, and no folder given: no checkpoints are saved\n"


def test_outside_of_a_job_a_folder_can_be_given(tmp_path: Path) -> None:
    script = f"""
        from corral import checkpoint
        for step in checkpoint.restore({{}}, folder={str(tmp_path / "mine")!r}).steps(5): pass
    """
    run(script, None)
    assert "continued at step 5" in run(script, None)[2]


@pytest.mark.parametrize("variable", ["RANK", "SLURM_PROCID"])
def test_only_the_first_rank_writes_and_speaks(tmp_path: Path, variable: str) -> None:
    code, output, said = run(STEPPING, tmp_path, **{variable: "1"})
    assert (code, len(output.splitlines()), said) == (0, 201, "")
    assert not (tmp_path / "checkpoint").exists()


# What Slurm does: the signal goes to every process of the step.
WITH_CHILDREN = """
    import multiprocessing, os, signal, subprocess, sys
    from corral import checkpoint
    state = checkpoint.restore({})
    forked = multiprocessing.get_context("fork").Process(target=signal.pause)
    forked.start()
    started = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    for child in (started.pid, forked.pid):
        os.kill(child, signal.SIGUSR1)
    started.stdin.close()
    print("started", started.wait())
    print("forked", forked.is_alive())
    forked.terminate()
    forked.join()
    for _ in range(20):
        forked = multiprocessing.get_context("fork").Process(target=signal.pause)
        forked.start()
        forked.terminate()
        forked.join()
    print("ended", forked.exitcode)
"""


def test_children_of_a_script_survive_the_warning_and_can_still_be_ended(tmp_path: Path) -> None:
    assert run(WITH_CHILDREN, tmp_path)[1].splitlines() == ["started 0", "forked True", "ended -15"]
