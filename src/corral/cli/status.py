"""`corral status`."""

from __future__ import annotations

import typer
from rich.markup import escape
from rich.table import Table

from corral.cli.operator import operator
from corral.cli.terminal import ClusterOption, JsonOption, console, duration, print_json, run
from corral.slurm.text import NodeState
from corral.workflows.state import find_cluster
from corral.workflows.status import ClusterStatus, MachineStatus, cluster_status

_QUEUE_LINES = 10


def status(cluster: ClusterOption = None, as_json: JsonOption = False) -> None:
    """The cluster on one screen: machines, GPUs, partitions, daemons, queue, and what is wrong."""
    found = run(cluster_status(find_cluster(cluster), operator()))
    if as_json:
        print_json(found.to_json())
    else:
        _show(found)
    if found.problems:
        raise typer.Exit(1)


def _show(found: ClusterStatus) -> None:
    healthy = sum(node.healthy for node in found.nodes)
    console.print(
        f"[bold]{found.cluster}[/]  Slurm {found.slurm or '?'}  "
        f"{healthy}/{len(found.nodes)} nodes healthy  {_gpu_total(found)}"
    )
    console.print()
    console.print(_machines(found))
    console.print()
    console.print(_partitions(found))
    console.print(_queue(found))
    console.print()
    for problem in found.problems:
        console.print(f"[red]✗[/] {escape(problem)}", soft_wrap=True)
    if not found.problems:
        console.print("[green]✓[/] nothing is wrong")


def _gpu_total(found: ClusterStatus) -> str:
    total = sum(sum(node.gpus.values()) for node in found.nodes)
    used = sum(node.gpus_in_use for node in found.nodes)
    simulated = any(machine.gpus_are_simulated for machine in found.machines)
    return f"{used}/{total} GPUs in use{' (simulated)' if simulated and total else ''}"


def _machines(found: ClusterStatus) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("MACHINE", "STATE", "GPUS", "CPUS", "MEMORY", "DAEMONS"):
        table.add_column(title)
    nodes = {node.name: node for node in found.nodes}
    for machine in found.machines:
        table.add_row(machine.name, *_node_cells(machine, nodes.get(machine.name)), _daemons(machine))
    return table


def _node_cells(machine: MachineStatus, node: NodeState | None) -> tuple[str, str, str, str]:
    if node is None:
        return ("[dim]–[/]" if machine.reachable else "[red]unreachable[/]", "", "", "")
    color = "green" if node.healthy else "red"
    gpus = ", ".join(f"{count}× {kind or 'gpu'}" for kind, count in node.gpus.items()) or "–"
    if node.gpus and machine.gpus_are_simulated:
        gpus += " [dim](simulated)[/]"
    if node.gpus:
        gpus = f"{node.gpus_in_use} of {gpus}"
    return (
        f"[{color}]{node.state}[/]",
        gpus,
        f"{node.cpus_in_use} of {node.cpus}",
        f"{node.memory_mib / 1024:.1f} GiB",
    )


def _daemons(machine: MachineStatus) -> str:
    if not machine.reachable:
        return ""
    bad = [f"{name} {state}" for name, state in machine.daemons.items() if state != "active"]
    count = f"{len(machine.daemons) - len(bad)} of {len(machine.daemons)} run"
    return f"{count}: [red]{', '.join(bad)}[/]" if bad else count


def _partitions(found: ClusterStatus) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("PARTITION", "STATE", "NODES", "MAX TIME"):
        table.add_column(title)
    for partition in found.partitions:
        name = f"{partition.name} (default)" if partition.default else partition.name
        table.add_row(name, partition.state, str(partition.nodes), partition.max_time)
    return table


def _queue(found: ClusterStatus) -> Table | str:
    running = sum(job.state == "RUNNING" for job in found.queue)
    if not found.queue:
        return "\n[dim]QUEUE[/]  empty"
    table = Table(
        box=None,
        padding=(0, 2, 0, 0),
        header_style="dim",
        title=f"\nQUEUE  {running} running, {len(found.queue) - running} waiting",
        title_justify="left",
        title_style="dim",
    )
    for title in ("JOB", "NAME", "USER", "STATE", "TIME", "NODES", "GPUS", "WHERE OR WHY"):
        table.add_column(title, no_wrap=True, overflow="ellipsis")
    for job in sorted(found.queue, key=lambda job: job.state != "RUNNING")[:_QUEUE_LINES]:
        gpus = f"{job.gpus}× {job.gpu_type or 'gpu'}" if job.gpus else ""
        table.add_row(
            job.id, escape(job.name), job.user, job.state.lower(), duration(job.elapsed_s), str(job.node_count),
            gpus, escape(job.nodes or job.reason),
        )  # fmt: skip
    if len(found.queue) > _QUEUE_LINES:
        table.add_row("…", f"and {len(found.queue) - _QUEUE_LINES} more")
    return table
