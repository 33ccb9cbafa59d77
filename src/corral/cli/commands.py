"""The table of commands. A command's module is loaded when the command is run, and not before.

So a command starts as fast as its own imports allow, and those that people use on the cluster's machines
run there without the libraries of an operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

# What follows the first argument belongs to the command that is passed on.
_PASSES_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@dataclass(frozen=True, slots=True)
class Entry:
    """One command: `corral.cli.NAME` has a function NAME, or for a group of commands a typer `app`."""

    help: str
    settings: Mapping[str, bool] = field(default_factory=dict)


COMMANDS = {
    "run": Entry("Run a script or a command as a job, follow its output, and exit with its code.", _PASSES_ON),
    "sweep": Entry("Run a command once for each of many settings, and compare what came of it."),
    "jobs": Entry("My jobs: what runs, what waits and why, and what ended a moment ago."),
    "logs": Entry("What a job has printed; with -f also what it prints from now on."),
    "why": Entry("Why a job waits, until when, and what would help; or why it ended."),
    "cancel": Entry("End jobs, whether they wait or run; a sweep with all its trials."),
    "hold": Entry("Keep waiting jobs from starting until they are released."),
    "release": Entry("Let held jobs start."),
    "requeue": Entry("Run jobs again, from their last checkpoint if they have one; ended ones too."),
    "init": Entry("Look at machines over SSH and write the cluster file that fits them."),
    "up": Entry("Make the cluster what its file says. Safe to repeat, safe to interrupt."),
    "plan": Entry("Show what `up` would change, without changing anything."),
    "status": Entry("The cluster on one screen, and what is wrong."),
    "doctor": Entry("What is wrong with the cluster, in plain words, and how to mend it."),
    "check": Entry("Prove that the cluster works, rung by rung, up to a training over all nodes."),
    "bench": Entry("How fast the cluster is, beside what its machines and links could do."),
    "advise": Entry("Whether training on several nodes pays, and how to make it pay."),
    "node": Entry("Grow, shrink and mend the cluster, one node at a time."),
    "ssh": Entry("Log in to a machine, or run one command on it.", _PASSES_ON),
    "down": Entry("End the cluster: local machines vanish, real ones stop and keep their data."),
    "schema": Entry("Print the cluster file's JSON Schema."),
    "version": Entry("Print the version."),
}


class Commands(TyperGroup):
    """The group of all commands; typer keeps its types of context and command to itself."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands = dict.fromkeys(COMMANDS)  # type: ignore[assignment]  # names alone: `get_command` has the rest

    def get_command(self, _ctx: Any, name: str) -> Any:
        return _load(name) if name in COMMANDS else None

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def _load(name: str) -> Any:
    module = import_module(f"corral.cli.{name}")
    group: typer.Typer | None = getattr(module, "app", None)
    if group is not None:
        group.rich_markup_mode = None
        return get_group(group)
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, context_settings=dict(COMMANDS[name].settings))(getattr(module, name))
    return get_command(single)
