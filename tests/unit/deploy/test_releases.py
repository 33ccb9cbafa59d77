"""Slurm's releases: which follow each other, and which work together."""

from __future__ import annotations

import pytest

from corral.deploy.releases import Release, predecessors, release_of, show, understands, upstream


@pytest.mark.parametrize(
    ("release", "earlier"),
    [
        ((26, 5), ((25, 11), (25, 5), (24, 11))),
        ((25, 11), ((25, 5), (24, 11), (24, 5))),
        ((24, 11), ((24, 5), (23, 11), (23, 2))),
        ((24, 5), ((23, 11), (23, 2))),
        ((23, 11), ((23, 2), (22, 5))),
        ((22, 5), ((21, 8), (20, 11))),
    ],
)
def test_a_release_takes_over_from_two_before_it_and_since_24_11_from_three(
    release: Release, earlier: tuple[Release, ...]
) -> None:
    assert predecessors(release) == earlier


@pytest.mark.parametrize(
    ("newer", "older", "supported"),
    [
        ((26, 5), (24, 11), True),
        ((26, 5), (24, 5), False),
        ((26, 5), (22, 5), False),
        ((24, 11), (22, 5), False),
        ((23, 11), (22, 5), True),
        ((24, 11), (24, 11), True),
        ((24, 11), (25, 5), False),
    ],
)
def test_which_jumps_slurm_supports(newer: Release, older: Release, supported: bool) -> None:
    assert understands(newer, older) is supported


def test_a_distributions_version_is_understood() -> None:
    assert release_of("24.11.5-4+deb13u1") == (24, 11)
    assert release_of("1:22.05.8-4") == (22, 5)
    assert release_of("") is None
    assert upstream("24.11.5-4+deb13u1") == "24.11.5"
    assert show((22, 5)) == "22.05"
