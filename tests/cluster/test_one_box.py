"""One machine that deploys itself: no SSH, with systemd and, as in a pod, with supervisord."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import CORRAL, eventually

from corral.hosts.base import Completed
from corral.hosts.known_hosts import KnownHosts
from corral.hosts.login import Login
from corral.providers.local import LocalMachines
from corral.providers.local.recipe import Init
from corral.spec.model import LocalSpec

FILE = "name: solo\nmachines: {box: {connection: local}}\nusers: {alice: {}}\n"
Run = Callable[[str], str]


@pytest.fixture(scope="module", params=["systemd", "none"], ids=["systemd", "supervisord"])
def on_box(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, image_cache: Path
) -> Iterator[Run]:
    """Run a command on the box, where Corral itself is installed."""
    init: Init = request.param
    folder = tmp_path_factory.mktemp("box")
    box = LocalMachines(folder / "local", image_cache, f"box-{os.getpid()}", LocalSpec(), init=init)

    def run(script: str) -> str:
        async def there() -> Completed:
            host = await Login(KnownHosts(Path(os.devnull))).connect(box.machines()[0])
            try:
                return await host.run(f"cd /root && {script}", timeout_s=120)
            finally:
                await host.close()

        done = asyncio.run(there())
        assert done.ok, done
        return done.stdout

    try:
        asyncio.run(box.up(["box"], lambda _: None))
        run(f"printf '{FILE}' > cluster.yaml")
        run(f"{CORRAL} up")
        yield run
    finally:
        asyncio.run(box.down())


def test_the_machine_it_runs_on_becomes_a_cluster_of_one(on_box: Run) -> None:
    assert on_box("runuser -u alice -- srun --gres=gpu:1 hostname").strip() == "box"
    assert "nothing is wrong" in on_box(f"{CORRAL} status")


def test_up_again_has_nothing_to_do(on_box: Run) -> None:
    assert "nothing to do" in on_box(f"{CORRAL} up")


def test_commands_run_there_without_ssh(on_box: Run) -> None:
    assert on_box(f"{CORRAL} ssh box hostname").strip() == "box"


def test_people_have_corral_and_a_folder_for_jobs_and_a_killed_keeper_of_these_is_back(on_box: Run) -> None:
    assert on_box("runuser -u alice -- corral version").startswith("corral ")
    assert '"jobs": "/var/lib/corral/jobs"' in on_box("cat /etc/corral/site.json")
    on_box("runuser -u alice -- mkdir /var/lib/corral/jobs/alice")
    before = on_box("pgrep -f '[c]orral.jobs.keeper'")
    on_box(f"kill -9 {before.strip()}")
    eventually(lambda: on_box("pgrep -f '[c]orral.jobs.keeper' || true").strip() not in ("", before.strip()))
