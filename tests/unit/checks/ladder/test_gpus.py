"""Whether jobs ran at the same time, and which GPUs they could open."""

from __future__ import annotations

from corral.checks.ladder.gpus import judge_node, judge_overlap, most_at_once
from corral.checks.ladder.jobs import Answer, read_answer

BUSY = "srun: error: Unable to allocate resources: Requested nodes are busy"


def hello(**devices: str) -> Answer:
    return Answer(0, ({"devices": {f"/dev/{name}": said for name, said in devices.items()}},), "")


def kinds(granted: Answer, denied: Answer | None, *, confined: bool = True, simulated: bool = False) -> list[str]:
    found = judge_node("n1", 1, granted, denied, confined=confined, simulated=simulated)
    return [f"{finding.severity} {finding.kind}" for finding in found]


def test_intervals_that_share_a_moment_are_counted() -> None:
    assert most_at_once([(0, 2), (1, 3), (1.5, 4)]) == 3
    assert most_at_once([(0, 1), (2, 3)]) == 1
    assert most_at_once([]) == 0


def test_a_job_that_begins_as_another_ends_does_not_overlap_with_it() -> None:
    assert most_at_once([(0, 2), (2, 4)]) == 1


def test_as_many_as_fit_must_run_and_the_one_more_must_wait() -> None:
    assert judge_overlap("lab", 3, 3, 1) == []
    assert "only 2 ran" in judge_overlap("lab", 3, 2, 1)[0].what
    assert "4 one-GPU jobs ran at the same time on 3 GPUs" in judge_overlap("lab", 3, 4, 1)[0].what


def test_its_own_gpu_and_no_other_is_as_it_should_be() -> None:
    assert kinds(hello(nvidia0="denied", nvidia1="open"), hello(nvidia0="denied", nvidia1="denied")) == []


def test_a_simulated_gpu_has_no_driver_and_is_fine_but_a_real_one_is_not() -> None:
    empty, kept_out = hello(nvidia0="No such device or address"), hello(nvidia0="denied")
    assert kinds(empty, kept_out, simulated=True) == []
    assert kinds(empty, kept_out) == ["error gpu-denied"]


def test_a_job_without_a_gpu_that_can_open_one_is_an_error_where_jobs_should_be_confined() -> None:
    assert kinds(hello(nvidia0="open"), hello(nvidia0="open")) == ["error gpu-open"]
    assert kinds(hello(nvidia0="open"), hello(nvidia0="open"), confined=False) == ["warning gpu-open"]


def test_a_job_that_can_open_more_than_it_asked_for_is_found() -> None:
    assert kinds(hello(nvidia0="open", nvidia1="open"), hello(nvidia0="denied", nvidia1="denied")) == ["error gpu-open"]


def test_a_job_that_is_kept_from_its_own_gpu_is_found() -> None:
    assert kinds(hello(nvidia0="denied"), hello(nvidia0="denied")) == ["error gpu-denied"]


def test_a_job_that_failed_is_told_in_its_own_words_and_one_that_found_the_node_busy_is_not() -> None:
    failed = judge_node("n1", 0, Answer(1, (), "srun: error: Task launch failed"), None, confined=True, simulated=False)
    assert [finding.what for finding in failed] == ["a job did not run there: srun: error: Task launch failed"]
    assert judge_node("n1", 0, Answer(1, (), BUSY), None, confined=True, simulated=False) == []


def test_what_a_gauge_tells_is_told_from_what_srun_says() -> None:
    answer = read_answer("0\n", 'hello\n0: corral-gauge {"kind": "hello", "node": "n1"}\n', "srun: a warning\n")
    assert (answer.ok, answer.records[0]["node"], answer.words) == (True, "n1", "hello; srun: a warning")


def test_a_job_that_was_not_over_in_time_says_so() -> None:
    assert read_answer("124\n", "", "").words == "it was not over in time"
