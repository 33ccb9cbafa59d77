"""The image that all machines of a release share, built once and kept in the cache."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from corral.errors import ProviderError
from corral.hosts.local import run
from corral.providers.local.recipe import Recipe

OnProgress = Callable[[str], None]

_BUILD_TIMEOUT_S = 1800.0
_LOCK_POLL_S = 0.2
# setpriv: the build dies with this process; kill-child: with it every process, mount and namespace of it.
_CONTAINED = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child=SIGKILL", "--mount-proc"),
)


async def ensure_image(recipe: Recipe, cache: Path, on_progress: OnProgress) -> Path:
    """Return the image's root directory, building it if this recipe was never built here."""
    image = cache / "images" / recipe.name
    if image.is_dir():
        return image
    try:
        image.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ProviderError(f"cannot keep images in {image.parent}: {problem.strerror}") from problem
    async with _sole_builder(image, on_progress):
        if not image.is_dir():
            await _build(recipe, image, on_progress)
    return image


@asynccontextmanager
async def _sole_builder(image: Path, on_progress: OnProgress) -> AsyncIterator[None]:
    """Hold the image's lock; the kernel lets go of it when this process ends, however that happens."""
    fd = os.open(image.parent / f".{image.name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        told = False
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    on_progress(f"waiting for another process that builds the image {image.name}")
                told = True
                await asyncio.sleep(_LOCK_POLL_S)
        yield
    finally:
        os.close(fd)


async def _build(recipe: Recipe, image: Path, on_progress: OnProgress) -> None:
    unfinished = image.parent / f".{image.name}.building"
    # What an earlier, killed build left: its processes died with it, so nobody writes there any more.
    await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)

    def tell(line: str) -> None:
        if line.startswith("I: ") and "hook" not in line:
            on_progress(f"building the {recipe.release} image: {line[3:].rstrip('.')}")

    try:
        done = await run(_command(recipe, unfinished), timeout_s=_BUILD_TIMEOUT_S, on_line=tell)
        if not done.ok:
            raise ProviderError(
                f"mmdebstrap could not build the {recipe.release} image (exit {done.exit_code}):\n"
                f"{done.last_words()}\nIt needs a Debian mirror and about 1 GB in {image.parent}."
            )
        unfinished.rename(image)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
        raise


def _command(recipe: Recipe, target: Path) -> list[str]:
    return [
        *_CONTAINED,
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        "--format=directory",
        f"--include={','.join(recipe.packages)}",
        *(f"--dpkgopt={option}" for option in recipe.dpkg_options),
        *(f"--aptopt={option}" for option in recipe.apt_options),
        f"--customize-hook={recipe.setup}",
        recipe.release,
        str(target),
    ]
