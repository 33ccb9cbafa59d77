"""Shared storage: exported to the cluster's machines and nobody else, mounted at boot, the same for everybody."""

from __future__ import annotations

import shlex

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File, Files
from corral.deploy.resources.script import Script
from corral.deploy.resources.service import daemon
from corral.deploy.step import Step
from corral.deploy.storage import Storage, storage_of
from corral.deploy.templates import render

EXPORTS = "/etc/exports.d/corral.exports"
_NFS_CONF = "/etc/nfs.conf.d/corral.conf"
_LOADED = "/run/corral/exports.loaded"
_NOTE_EXPORTS = f"mkdir -p -m 700 /run/corral; sha256sum {EXPORTS} > {_LOADED}"

# Packages bring the helpers of NFS 3, which listen to everybody; a machine that mounts by version 3 needs them.
NFS3_HELPERS = "rpcbind.socket rpcbind.service rpc-statd.service rpc-statd-notify.service"
_HELPERS_LOOK = f"""
grep -qE ' nfs .*vers=3' /proc/mounts || for unit in {NFS3_HELPERS}; do
  [ "$(systemctl is-enabled $unit 2>/dev/null)" = masked ] || echo $unit
done
"""

_MOUNT_LOOK = """
[ "$(systemctl is-enabled {unit} 2>/dev/null)" = enabled ] || echo "it is not mounted at boot"
[ "$(systemctl show -p NeedDaemonReload --value {unit})" = no ] || echo "its unit changed"
systemctl -q is-active {unit} || echo "it is not mounted"
[ -z "{remote}" ] || [ "$(findmnt -fno SOURCE {mount})" = {source} ] || echo "it is not {source}"
"""
_MOUNT_ACT = """
if ! mountpoint -q {mount} && [ -n "$(ls -A {mount} 2>/dev/null)" ]; then
  echo "{mount} has files of its own here, which the mount would hide. Try: move them away"; exit 1
fi
systemctl daemon-reload && systemctl -q enable {unit}
if [ -n "{remote}" ] && mountpoint -q {mount} && [ "$(findmnt -fno SOURCE {mount})" != {source} ]; then
  umount {mount} || exit 1
fi
systemctl start {unit} || {{ journalctl -q -u {unit} -n 6 -o cat --no-pager; exit 1; }}
"""
_NO_MOUNTS = """
echo "this machine has no systemd, as in a rented pod, and can neither serve nor mount NFS."
echo "Try: attach the folder at {mount} by the provider's own means, and write 'shared: {{mount: {mount}}}'"; exit 1
"""

_KEEPER_LOOK = """
timeout -s KILL 20 stat -t {mount}/. >/dev/null 2>&1 || {{ echo "{mount} does not answer"; exit; }}
[ "$(cat {marker} 2>/dev/null)" = {cluster} ] || echo "{marker}"
[ -d {homes} ] || echo "{homes}"
for folder in {mount}/jobs {mount}/jobs/.open; do
  [ "$(stat -c %a $folder 2>/dev/null)" = 1777 ] || echo "$folder"
done
"""
# What is right is left alone: of a server outside, root may be nobody.
_KEEPER_ACT = """
for_all() {{ [ "$(stat -c %a $1 2>/dev/null)" = 1777 ] || {{ mkdir -p $1 && chmod 1777 $1; }}; }}
timeout -s KILL 20 stat -t {mount}/. >/dev/null || {{
  echo "{mount} is not there or does not answer. Try: mount it on every machine, or see to its server"; exit 1
}}
{{
  {{ [ -d {homes} ] || mkdir -p -m 755 {homes}; }} && for_all {mount}/jobs && for_all {mount}/jobs/.open &&
  {{ [ "$(cat {marker} 2>/dev/null)" = {cluster} ] || echo {cluster} > {marker}; }}
}} || {{
  echo "root of this machine may not write to {mount}."
  echo "Try: on its server, in {there}, make {folders} with mode 1777 and the file .corral with the text {cluster}"
  exit 1
}}
"""
_OTHERS_LOOK = """
[ "$(timeout -s KILL 20 cat {marker} 2>/dev/null)" = {cluster} ] || echo "{mount} is not the folder that {keeper} sees"
"""
# What was looked for in vain stays unseen for a while on NFS.
_OTHERS_ACT = """
for second in $(seq 35); do [ "$(cat {marker} 2>/dev/null)" = {cluster} ] && exit 0; sleep 1; done
echo "{mount} is not the same here as on {keeper}: what is written there ({marker}) cannot be read here."
echo "Try: mount it on every machine, or let Corral do it with server and path, or nfs"; exit 1
"""


def steps(cluster: Cluster, node: Node) -> list[Step]:
    storage = storage_of(cluster, node)
    if storage is None:
        return []
    found: list[Step] = []
    if node.facts.service_manager == "systemd":
        found += _server(node, storage) if storage.is_server else []
        found += _mount(storage) if storage.source else []
    elif storage.is_server or storage.source:
        found.append(_no_mount(storage))
    return [*found, _folder(cluster, storage)]


def _server(node: Node, storage: Storage) -> list[Step]:
    path = storage.shared.path
    return [
        Script(
            "served folder",
            look=f"[ -d {path} ] || echo {path}",
            act=f"mkdir -p -m 755 {path}",
            doing=f"make {path}",
        ),
        # Without clients the file must be empty: a path alone would be exported to the world.
        Files("exports", [File(EXPORTS, render(EXPORTS, folder=path, clients=storage.clients))], after=("packages",)),
        *daemon(
            node,
            "nfs-server",
            files=[File(_NFS_CONF, render(_NFS_CONF))],
            ready="grep -q '+4.2' /proc/fs/nfsd/versions && ! grep -qx 0 /proc/fs/nfsd/threads",
            after=("packages",),
            starts_after=("served folder", "exports", "NFS 3 helpers"),
            note_exports=_NOTE_EXPORTS,
        ),
        Script(
            "exported",
            look=f"sha256sum {EXPORTS} | cmp -s - {_LOADED} || echo {EXPORTS}",
            # Not a restart: that would hold up every client for the server's grace time.
            act=f"exportfs -ra && {_NOTE_EXPORTS}",
            doing="export to the machines of the cluster",
            after=("exports", "nfs-server"),
        ),
    ]


def _mount(storage: Storage) -> list[Step]:
    what = {
        "unit": shlex.quote(storage.unit),
        "mount": storage.mount,
        "source": storage.source,
        "remote": "" if storage.is_server else "yes",
    }
    unit = File(
        f"/etc/systemd/system/{storage.unit}",
        render(
            "etc/systemd/system/shared.mount",
            what=storage.source,
            where=storage.mount,
            served_here=storage.is_server,
        ),
    )
    return [
        Script(
            "NFS 3 helpers",
            look=_HELPERS_LOOK,
            act=f"systemctl -q mask --now {NFS3_HELPERS}",
            doing="switch the helpers of NFS 3 off",
            after=("packages",),
        ),
        Files("shared mount unit", [unit], after=("packages",)),
        Script(
            "shared mount",
            look=_MOUNT_LOOK.format(**what),
            act=_MOUNT_ACT.format(**what),
            doing=f"mount {storage.source} on {storage.mount}",
            after=("shared mount unit", "NFS 3 helpers", "served folder", f"@{storage.keeper}/exported"),
            timeout_s=150,
        ),
    ]


def _no_mount(storage: Storage) -> Step:
    return Script(
        "shared mount",
        look=f"mountpoint -q {storage.mount} || echo it is not mounted",
        act=_NO_MOUNTS.format(mount=storage.mount),
        doing=f"share {storage.mount}",
    )


def _folder(cluster: Cluster, storage: Storage) -> Step:
    values = {
        "marker": storage.marker,
        "mount": storage.mount,
        "homes": storage.shared.homes,
        "cluster": cluster.spec.name,
        "keeper": storage.keeper,
        "there": storage.source.rpartition(":")[2] or storage.mount,
        "folders": "jobs" if storage.shared.homes == storage.mount else "home, and jobs",
    }
    if storage.is_keeper:
        return Script(
            "shared folder",
            look=_KEEPER_LOOK.format(**values),
            act=_KEEPER_ACT.format(**values),
            doing=f"make the folders for homes and jobs in {storage.mount}",
            after=("shared mount",),
        )
    return Script(
        "shared folder",
        look=_OTHERS_LOOK.format(**values),
        act=_OTHERS_ACT.format(**values),
        doing=f"see in {storage.mount} what {storage.keeper} sees",
        after=("shared mount", f"@{storage.keeper}/shared folder"),
    )
