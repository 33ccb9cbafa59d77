"""From wherever somebody sits to the desk that their jobs are started from.

On a machine of the cluster there is nothing to connect to. From elsewhere it goes over SSH to a login machine: as
the person, where that is who the cluster file logs in as, or else through the operator's own login.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from corral.errors import InputError
from corral.hosts.base import Shell
from corral.hosts.shell import LocalShell
from corral.jobs.desk import Desk, desk_at
from corral.jobs.site import SITE_FILE

if TYPE_CHECKING:
    from corral.spec.model import ClusterSpec

USER_VARIABLE = "CORRAL_USER"


@asynccontextmanager
async def open_desk(cluster: str | None = None, user: str | None = None) -> AsyncIterator[Desk]:
    """The desk of a person (by default the one who asks) on a cluster (by default the one this machine is of)."""
    user = user or os.environ.get(USER_VARIABLE)
    if cluster is None and Path(SITE_FILE).is_file():
        shell: Shell = LocalShell(_here(user))
    else:
        shell = await _from_afar(cluster, user)
    try:
        desk = await desk_at(shell)
    except BaseException:
        await shell.close()
        raise
    try:
        yield desk
    finally:
        await desk.close()


def _here(user: str | None) -> str:
    own = getpass.getuser()
    if user not in (None, own) and os.geteuid() != 0:
        raise InputError(f"you are {own}; only root may start jobs for {user}")
    return user or own


async def _from_afar(cluster: str | None, user: str | None) -> Shell:
    # What a login machine lacks, and needs none of.
    from corral.hosts.connect import connect
    from corral.hosts.login import Login
    from corral.hosts.ssh import SSHHost
    from corral.hosts.ssh_shell import SSHShell
    from corral.workflows.machines import machine_named
    from corral.workflows.state import ClusterState, find_cluster

    spec = find_cluster(cluster)
    machine = machine_named(spec, _login_machine(spec))
    person = _person(spec, user, machine.user)
    login = Login(ClusterState(spec.name).known_hosts)
    host = await connect(machine, login)
    return SSHShell(person, host, login) if isinstance(host, SSHHost) else LocalShell(person)


def _login_machine(spec: ClusterSpec) -> str:
    """A machine for people to log in to: one that says so, or else the head."""
    return next((name for name in spec.machines if "login" in spec.roles(name)), spec.head)


def _person(spec: ClusterSpec, user: str | None, logs_in_as: str) -> str:
    """Whose jobs they are: as asked, else whoever logs in, else the name that one has here, else the only one."""
    people = list(spec.users)
    if user is not None:
        if user not in (*people, logs_in_as):
            raise InputError(f"{spec.name} has no user '{user}'; its users: {', '.join(people) or 'none'}")
        return user
    if logs_in_as in people:
        return logs_in_as
    if getpass.getuser() in people:
        return getpass.getuser()
    if len(people) == 1:
        return people[0]
    if not people:
        raise InputError(f"{spec.name} has no users, and jobs are somebody's. Try: users: in its file, then corral up")
    raise InputError(f"whose jobs? Choose with --user or ${USER_VARIABLE}: {', '.join(people)}")
