"""A job before it is sent: inspectable, the same for `sbatch` and for REST."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields

from corral.errors import InputError

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@*?[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDescription:
    """What Slurm is asked to run. Empty text and None leave a choice to Slurm."""

    name: str
    script: str = field(repr=False)
    folder: str
    """Where the batch script starts: Slurm's WorkDir."""
    output: str
    """Its stdout and stderr, appended to; may hold Slurm's own %-patterns, such as %a."""
    nodes: int = 1
    tasks_per_node: int = 1
    cpus_per_task: int = 1
    memory_mib: int | None = None
    """Per node."""
    gpus_per_node: int = 0
    gpu_type: str = ""
    time_limit_min: int | None = None
    partition: str = ""
    qos: str = ""
    account: str = ""
    array: str = ""
    dependency: str = ""
    requeue: bool = True
    warn_s: int | None = None
    """Send USR1 to the job's steps so many seconds before its time is over."""
    hold: bool = False
    comment: str = ""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            # Each becomes one line or one C string on its way; more than that would end up somewhere else.
            if item.name != "script" and isinstance(value, str) and not value.isprintable():
                raise InputError(f"the job's {item.name} holds a control character: {value!r}")
        if "\0" in self.script:
            raise InputError("the job's script holds a NUL character, which no shell reads")

    @property
    def gres(self) -> str:
        """GPUs per node as `--gres` spells them: `gpu:rtx5090:2`."""
        if not self.gpus_per_node:
            return ""
        return f"gpu:{self.gpu_type}:{self.gpus_per_node}" if self.gpu_type else f"gpu:{self.gpus_per_node}"

    def to_json(self) -> dict[str, object]:
        """Everything but the script, which has a file of its own."""
        found = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "script"}
        return {**found, "environment": dict(self.environment)}

    @classmethod
    def from_json(cls, data: object, script: str) -> JobDescription:
        """The reverse of `to_json`; an `InputError` for anything that it did not write."""
        if not isinstance(data, dict):
            raise InputError(f"a job's description is an object, not {data!r}")
        known = {item.name: item for item in fields(cls) if item.name != "script"}
        for name, value in data.items():
            if name not in known:
                raise InputError(f"a job's description has no '{name}'; it has: {', '.join(known)}")
            if not _fits(value, str(known[name].type)):
                raise InputError(f"a job's {name} is {known[name].type}, not {value!r}")
        missing = [
            name for name, item in known.items()
            if name not in data and item.default is MISSING and item.default_factory is MISSING
        ]  # fmt: skip
        if missing:
            raise InputError(f"a job's description lacks: {', '.join(missing)}")
        return cls(script=script, **data)


def _fits(value: object, annotation: str) -> bool:
    if annotation.startswith("Mapping"):
        return isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair)
    # By exact type: a bool is an int to isinstance.
    return type(value).__name__.replace("NoneType", "None") in annotation.split(" | ")


def directives(description: JobDescription) -> list[str]:
    """The `#SBATCH` lines that ask `sbatch` for the same job.

    The environment is not among them: `sbatch` hands on that of the shell it is called from.
    """
    wanted: dict[str, object] = {
        "job-name": description.name,
        "chdir": description.folder,
        "output": description.output,
        "open-mode": "append",
        "nodes": description.nodes,
        "ntasks-per-node": description.tasks_per_node,
        "cpus-per-task": description.cpus_per_task,
        "mem": "" if description.memory_mib is None else f"{description.memory_mib}M",
        "gres": description.gres,
        "time": description.time_limit_min,
        "partition": description.partition,
        "qos": description.qos,
        "account": description.account,
        "array": description.array,
        "dependency": description.dependency,
        "signal": "" if description.warn_s is None else f"USR1@{description.warn_s}",
        "comment": description.comment,
    }
    lines = [f"#SBATCH --{name}={_quoted(str(value))}" for name, value in wanted.items() if value not in ("", None)]
    lines.append("#SBATCH --requeue" if description.requeue else "#SBATCH --no-requeue")
    return [*lines, "#SBATCH --hold"] if description.hold else lines


def _quoted(text: str) -> str:
    """As sbatch reads its directives: quotes keep spaces together, a backslash keeps quotes."""
    if set(text) <= _PLAIN:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
