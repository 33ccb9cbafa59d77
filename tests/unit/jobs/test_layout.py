"""Names on shared storage."""

from __future__ import annotations

import pytest

from corral.jobs.layout import Home, folder_of, is_token, new_token, open_folder

HOME = Home("/shared/jobs", "ada")
TOKEN = "260101-120000-abcd"


def test_new_tokens_are_tokens_and_differ() -> None:
    made = [new_token() for _ in range(20)]
    assert all(is_token(token) for token in made)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize(
    "text",
    ["", "code", "260101-120000", "260101-120000-ABCD", "260101-120000-abcde", f"{TOKEN}/..", f"{TOKEN}\n", "../../x",
     f"x{TOKEN}", "260101-120000-$(id"],
)  # fmt: skip
def test_nothing_else_is_a_token(text: str) -> None:
    assert not is_token(text)


def test_a_job_is_recognised_by_slurms_work_folder() -> None:
    found = folder_of(HOME.job(TOKEN).path, "/shared/jobs")
    assert found == HOME.job(TOKEN)
    assert found.token == TOKEN


@pytest.mark.parametrize(
    "work_dir",
    ["", "/", "/home/ada", "/shared/jobs", f"/shared/jobs/{TOKEN}", f"/shared/jobs/ada/{TOKEN}/work",
     f"/shared/jobs/ada/{TOKEN}/", f"/shared/jobsx/ada/{TOKEN}", "/shared/jobs/ada/code", f"ada/{TOKEN}"],
)  # fmt: skip
def test_jobs_that_did_not_come_from_corral_are_nobodys(work_dir: str) -> None:
    assert folder_of(work_dir, "/shared/jobs") is None


def test_a_job_is_its_own_only_unit_and_a_trial_has_its_own_folder_and_log() -> None:
    folder = HOME.job(TOKEN)
    assert (folder.unit(), folder.log()) == (folder.path, f"{folder.path}/log")
    assert (folder.unit(3), folder.log(3)) == (f"{folder.path}/trials/3", f"{folder.path}/logs/3.log")
    assert folder.rank_log(0) == f"{folder.path}/ranks/0.log"
    assert folder.rank_log(2, 0) == f"{folder.path}/trials/0/ranks/2.log"


def test_an_open_mark_names_its_person_and_its_token() -> None:
    assert HOME.open_mark(TOKEN) == f"{open_folder('/shared/jobs')}/ada.{TOKEN}"
