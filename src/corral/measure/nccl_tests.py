"""NVIDIA's nccl-tests, run as a job, and their table read into the same report as our own."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncGenerator, Sequence

from corral.errors import InputError
from corral.jobs.desk import Desk
from corral.jobs.request import JobRequest, Resources
from corral.jobs.submit import ask
from corral.measure.collective import CollectiveReport, Row, Timing, Variant
from corral.measure.records import Records
from corral.measure.send import NO_PROGRAM, GaugeFailed, Notice, output_of

PROGRAMS = {
    "allreduce": "all_reduce_perf",
    "allgather": "all_gather_perf",
    "reducescatter": "reduce_scatter_perf",
    "sendrecv": "sendrecv_perf",
}
_RANK = re.compile(r"#\s+Rank\s+(?P<rank>\d+)\s.* on\s+(?P<host>\S+) device\s+\d+ \[\S+\] (?P<device>.+)")
_ITERATIONS = re.compile(r"(?<!warmup )(?<!agg )iters: (\d+)")
_VERSION = re.compile(r"NCCL version (\S+)|nccl-library=(\S+)")


async def lines_of(
    desk: Desk, program: Sequence[str], options: Sequence[str], resources: Resources, mpi: str, notice: Notice
) -> AsyncGenerator[str, None]:
    """What the program prints: one process on every node, with all the GPUs that the job has there."""
    found = await ask(desk, resources, "", None)
    assert found.resources.gpus is not None
    request = JobRequest(
        command=(*program, *options, "-g", str(max(1, found.resources.gpus.count))),
        name="nccl-tests",
        resources=found.resources,
        variables={"SLURM_MPI_TYPE": mpi} if mpi else {},
    )
    said = Records()
    told = 0
    async for output in output_of(desk, request, notice, said.words):
        said.take(output)
        for line in said.words[told:]:
            yield line
        told = len(said.words)


def program(collective: str, path: str) -> tuple[str, ...]:
    """The program at the path, or that of the collective where it is a folder of them."""
    script = f'''
program={shlex.quote(path)}
[ ! -d "$program" ] || program=$program/{PROGRAMS[collective]}
[ -x "$program" ] || {{ echo "{NO_PROGRAM}$program on $HOSTNAME" >&2; exit 127; }}
exec "$program" "$@"'''
    return ("bash", "-c", script, "nccl-tests")


def parse(lines: Sequence[str], collective: str, where: str) -> CollectiveReport:
    """The report that a table of nccl-tests makes, whichever of its releases wrote it."""
    heads = [line for line in lines if _is_head(line)]
    if not heads:
        raise GaugeFailed("\n".join(["nccl-tests printed no table", *lines[-12:]]))
    if len(heads) > 1:
        raise InputError(
            "every node printed a table of its own: this nccl-tests was built without MPI, or Slurm started it "
            "without. Try: make MPI=1, and --mpi with one of what `srun --mpi=list` names; or --nodes 1"
        )
    titles = _titles(heads[0])
    iterations = next((int(match[1]) for line in lines if (match := _ITERATIONS.search(line))), None)
    ranks = [match for line in lines if (match := _RANK.match(line))]
    rows = [
        _row(titles, words, iterations)
        for line in lines
        if len(words := line.split()) == len(titles) and words[0].isdigit()
    ]
    if not rows:
        raise GaugeFailed("\n".join(["nccl-tests printed a table without rows", *lines[-12:]]))
    version = next((match[1] or match[2] for line in lines if (match := _VERSION.search(line))), "")
    return CollectiveReport(
        collective=collective,
        where=where,
        program="nccl-tests" + (f", NCCL {version}" if version else ""),
        backend="nccl",
        device=ranks[0]["device"].strip() if ranks else "GPU",
        ranks=len(ranks) or 1,
        hosts=tuple(dict.fromkeys(match["host"] for match in ranks)),
        variants=(Variant("nccl-tests", "as its own table says", tuple(rows)),),
    )


def _is_head(line: str) -> bool:
    return line.startswith("#") and {"size", "count", "type", "algbw"} <= set(line.split())


def _titles(head: str) -> list[str]:
    return head.removeprefix("#").split()


def _row(titles: Sequence[str], words: Sequence[str], iterations: int | None) -> Row:
    """`redop` and `root` are not in every table, and what is wrong was called `error` once."""
    first = titles.index("time")
    named = dict(zip(titles[:first], words[:first], strict=True))
    return Row(
        size_bytes=int(named["size"]),
        count=int(named["count"]),
        type=named["type"],
        redop=named.get("redop", "none"),
        out_of_place=_timing(words[first : first + 4], iterations),
        in_place=_timing(words[first + 4 :], iterations),
    )


def _timing(words: Sequence[str], iterations: int | None) -> Timing | None:
    if len(words) < 4 or words[0] == "N/A":
        return None
    # Before it counted wrong values it told the largest error, which says nothing by itself.
    wrong = int(words[3]) if words[3].isdigit() else None
    return Timing(float(words[0]) / 1e6, float(words[1]) * 8e9, float(words[2]) * 8e9, wrong, iterations)
