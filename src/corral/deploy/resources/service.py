"""A daemon that is enabled, running on its current configuration, and answering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corral.deploy.cluster import Node
from corral.deploy.facts import ServiceManager
from corral.deploy.resources.files import File, Files
from corral.deploy.step import Change, Step
from corral.deploy.templates import render

# What a daemon has loaded is written down by whoever starts it (see the unit templates), so a restart by
# hand, by a crash or by a reboot is seen as well as ours, and an interrupted deployment heals.
_LOADED_DIR = "/run/corral"
# systemd gives up on a start after 90 s and then says why; the machine may be slow to say it.
_START_S = 120

_UNIT_FILES: dict[ServiceManager, str] = {
    "systemd": "/etc/systemd/system/{unit}.service.d/corral.conf",
    "supervisord": "/etc/supervisor/conf.d/{unit}.conf",
}
# A package brings its unit, and we add to it; a daemon of our own has none but ours.
_OWN_UNIT, _OWN_UNIT_FILE = "corral-", "/etc/systemd/system/{unit}.service"
_MANAGERS: dict[ServiceManager, dict[str, str]] = {
    "systemd": {
        "enabled": "systemctl -q is-enabled {unit}",
        "running": "systemctl -q is-active {unit}",
        # Enabling also asks the old init scripts' tools and reloads systemd: half a second that nobody needs.
        "restart": (
            "systemctl -q is-enabled {unit} || SYSTEMCTL_SKIP_SYSV=1 systemctl -q --no-reload enable {unit}\n"
            '[ "$(systemctl show -p NeedDaemonReload --value {unit})" = no ] || systemctl daemon-reload\n'
            "systemctl restart {unit}"
        ),
        "enable": "systemctl daemon-reload && systemctl -q enable {unit}",
        "evidence": "journalctl -q -u {unit} -n 12 -o cat --no-pager",
        "stop": "systemctl -q cat {unit} >/dev/null 2>&1 || exit 0; systemctl -q disable --now {unit}",
    },
    "supervisord": {
        "enabled": "[ -f /etc/supervisor/conf.d/{unit}.conf ]",
        "running": "supervisorctl pid {unit} 2>/dev/null | grep -qx '[1-9][0-9]*'",
        "restart": "supervisorctl reread && supervisorctl update {unit} && supervisorctl restart {unit}",
        "enable": "supervisorctl reread && supervisorctl update {unit}",
        "evidence": "supervisorctl tail -2000 {unit}",
        "stop": "supervisorctl pid >/dev/null 2>&1 || exit 0; supervisorctl stop {unit}; "
        "rm -f /etc/supervisor/conf.d/{unit}.conf; supervisorctl update {unit}",
    },
}


@dataclass(frozen=True, slots=True)
class Service:
    """A step for one daemon."""

    name: str
    manager: ServiceManager
    reads: tuple[str, ...]
    """Files that it loads when it starts, such as its program; when one changes, it must start again."""
    ready: str
    """A test that is true when the daemon answers, not merely runs."""
    after: tuple[str, ...] = ()
    current: str = "true"
    """A test that is true when it runs on configuration it got from elsewhere."""
    complaint: str = "true"
    """A script that prints why it is not ready, when its own log does not tell."""
    ready_within_s: int = 30
    shared: str = "false"
    """A test that is true when others need the daemon too: it then runs on when the cluster goes down."""

    def _do(self, what: str) -> str:
        return _MANAGERS[self.manager][what].format(unit=self.name)

    def probe(self) -> str:
        loaded = f"{_LOADED_DIR}/{self.name}.loaded"
        return "\n".join(
            [
                f"{self._do('running')} && running=yes || {{ running=; echo stopped; }}",
                f"{self._do('enabled')} || echo disabled",
                f"sha256sum {' '.join(self.reads)} 2>/dev/null | cmp -s - {loaded} || echo stale",
                f"{{ {self.current}; }} >/dev/null 2>&1 || echo stale",
                # Slurm's commands wait long for a daemon that is not there.
                f'[ -z "$running" ] || {{ {self.ready}; }} >/dev/null 2>&1 || echo silent',
            ]
        )

    def diff(self, observed: str) -> Change | None:
        flaws = observed.split()
        if not flaws:
            return None
        if flaws == ["disabled"]:
            return Change(f"enable {self.name}", self._do("enable"))
        verb, why = "restart", "it does not answer"
        if "stopped" in flaws:
            verb, why = "start", "it is not running"
        elif "stale" in flaws:
            why = "its configuration or program changed"
        return Change(f"{verb} {self.name}: {why}", self._restart_and_wait(), timeout_s=self.ready_within_s + _START_S)

    def _restart_and_wait(self) -> str:
        return f"""
{{
{self._do("restart")}
}} || {{ {self._do("evidence")}; exit 1; }}
tries=0
until {{ {self.ready}; }} >/dev/null 2>&1; do
  tries=$((tries + 1))
  if [ $tries -gt {self.ready_within_s * 10} ]; then
    echo "{self.name} does not answer after {self.ready_within_s} s:"; {self._do("evidence")}; {self.complaint}
    {{ {self.ready}; }} 2>&1
    exit 1
  fi
  sleep 0.1
done
"""

    def stop(self) -> str:
        """The script that ends the service for good; its files and data stay. It says so if it does not."""
        return f"if {self.shared}; then echo shared; exit 0; fi\n{self._do('stop')}"


def daemon(
    node: Node,
    unit: str,
    *,
    files: Sequence[File],
    ready: str,
    reads: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
    starts_after: tuple[str, ...] = (),
    current: str = "true",
    complaint: str = "true",
    absent: tuple[str, ...] = (),
    shared: str = "false",
    **values: object,
) -> list[Step]:
    """The two steps of a daemon: its files, its unit among them, and the running service.

    `files` are what it loads at its start, `reads` what it loads besides; `after` is what the files wait
    for, `starts_after` what only the start waits for; `values` go to the unit's template.
    """
    manager = node.facts.service_manager
    own = manager == "systemd" and unit.startswith(_OWN_UNIT)
    path = (_OWN_UNIT_FILE if own else _UNIT_FILES[manager]).format(unit=unit)
    loads = (*(file.path for file in files), *reads, path)
    note_loaded = f"mkdir -p -m 700 {_LOADED_DIR}; sha256sum {' '.join(loads)} > {_LOADED_DIR}/{unit}.loaded; true"
    unit_file = File(path, render(path, unit=unit, facts=node.facts, note_loaded=note_loaded, **values))
    return [
        # supervisord starts whatever it finds when it comes up itself, whether its turn has come or not.
        Files(f"{unit} files", [*files, unit_file], after=(*after, "supervisor"), absent=absent),
        Service(
            unit,
            manager,
            reads=loads,
            ready=ready,
            after=(f"{unit} files", *starts_after),
            current=current,
            complaint=complaint,
            shared=shared,
        ),
    ]
