"""`corral init`."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from corral.checks.evidence import Evidence
from corral.checks.preflight import preflight
from corral.cli.findings import show_findings
from corral.cli.operator import AcceptOption, operator
from corral.cli.progress import SilentWatch, watching
from corral.cli.terminal import JsonOption, console, print_json, run
from corral.errors import InputError
from corral.hosts.machine import Machine
from corral.hosts.sshconfig import Destination, machine_at
from corral.spec.load import parse_cluster
from corral.workflows.draft import draft, gpus_in_words, links_in_words, system_in_words
from corral.workflows.init import Found, survey_hosts, write_file
from corral.workflows.state import CLUSTER_FILE

_GIB = 1 << 30


def init(
    hosts: Annotated[list[str], typer.Argument(help="[user@]host[:port] of each machine; the first becomes the head.")],
    user: Annotated[str | None, typer.Option(help="Account to log in with.", show_default=False)] = None,
    key: Annotated[
        Path | None, typer.Option(help="File of the private key to log in with.", show_default=False)
    ] = None,
    jump: Annotated[
        str | None, typer.Option(help="Host to go through: [user@]host[:port].", show_default=False)
    ] = None,
    name: Annotated[str, typer.Option(help="The cluster's name.")] = "lab",
    output: Annotated[Path, typer.Option(help="The file to write.")] = Path(CLUSTER_FILE),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that exists.")] = False,
    accept_new_host_keys: AcceptOption = False,
    as_json: JsonOption = False,
) -> None:
    """Look at machines over SSH and write the cluster file that fits them. Nothing is changed on them."""
    if output.exists() and not force:
        raise InputError(f"{output} exists already; --force writes over it, --output names another file")
    machines = [_machine(host, user, key, jump) for host in dict.fromkeys(hosts)]
    # Off a terminal there is nothing to watch: every problem comes as an error at the end.
    with watching("looking", instead=None if console.is_terminal and not as_json else SilentWatch()) as watch:
        person = operator(watch.paused, accept_new_host_keys=accept_new_host_keys)
        found = run(survey_hosts(name, machines, watch.emit, person))
    text = draft(name, found, key=key, jump=jump)
    spec = parse_cluster(text, str(output))
    write_file(output, text, force=force)
    if as_json:
        print_json({"cluster": name, "file": str(output), "machines": [one.to_json() for one in found]})
        return
    _show(found)
    facts, surveys = {one.name: one.facts for one in found}, {one.name: one.survey for one in found}
    show_findings(preflight(Evidence(spec, facts, surveys)))
    option = "" if output == Path(CLUSTER_FILE) else f" --cluster {output}"
    console.print(f"[bold green]{output} is written[/]. Try: [bold]corral up{option}[/]")


def _machine(host: str, user: str | None, key: Path | None, jump: str | None) -> Machine:
    given = Destination.parse(host)
    destination = Destination(given.host, given.user or user, given.port)
    return machine_at(host, destination, key=key, jump=jump, default_user=getpass.getuser())


def _show(found: Sequence[Found]) -> None:
    machines = _table("MACHINE", "ADDRESS", "SYSTEM", "CPUS", "MEMORY", "GPUS")
    surroundings = _table("MACHINE", "LINK", "DISK FREE", "CLOCK", "SLURM")
    for one in found:
        machines.add_row(
            one.name,
            one.machine.address,
            system_in_words(one),
            str(one.facts.cpus),
            f"{one.facts.memory_bytes / _GIB:.1f} GiB",
            gpus_in_words(one) or "–",
        )
        surroundings.add_row(
            one.name,
            links_in_words(one) or "–",
            f"{one.survey.free_bytes.get('/', 0) / _GIB:.0f} GiB",
            f"{one.survey.clock_offset_s:+.1f} s" if one.survey.clock_offset_s else "right",
            _slurm(one),
        )
    for table in (machines, surroundings):
        console.print(table)
        console.print()


def _table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def _slurm(found: Found) -> str:
    if found.hardware.slurm_daemons:
        return f"runs: {', '.join(found.hardware.slurm_daemons)}"
    if found.survey.slurm_confs:
        return f"configured: {found.survey.slurm_confs[0].path}"
    return "installed" if found.hardware.slurm_packages else "–"
