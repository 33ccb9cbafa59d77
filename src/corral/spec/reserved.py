"""Words that the cluster file may not use, because the system or Slurm already gives them a meaning."""

from __future__ import annotations

MACHINE_NAMES = frozenset(("all", "default", "localhost"))
PARTITION_NAMES = frozenset(("all", "default"))

USER_NAMES = frozenset(
    """
    _apt adm audio avahi backup bin cdrom corral crontab daemon dialout dip disk docker ftp games
    gnats input irc kmem kvm list lp mail man messagebus munge mysql news nobody nogroup ntp
    operator plugdev postfix proxy render root rpc sgx shadow slurm slurmrest src sshd ssl-cert
    staff statd sudo sync sys syslog tape tcpdump tss tty users utmp uucp uuidd video voice www-data
    """.split()  # noqa: SIM905 (a list would be sixty lines)
)
"""Accounts and groups of Debian, Ubuntu and Slurm; a person's account brings a group of the same name."""

USER_PREFIXES = ("systemd-", "_")

MOUNTS = frozenset(
    "/bin /boot /dev /etc /lib /lib64 /opt /proc /root /run /sbin /sys /tmp /usr /var".split()  # noqa: SIM905 (as above)
)

_MACHINE = "machines.<name>"
_PARTITION = "partitions.<name>"
_ADDRESS = f"{_MACHINE}.address"
_HEAD = f"add head to the roles of one machine ({_MACHINE}.roles)"

SLURM_KEYS = {
    "clustername": "name",
    "slurmctldhost": _HEAD,
    "controlmachine": _HEAD,
    "controladdr": _HEAD,
    "backupcontroller": "Corral runs one controller; remove it",
    "backupaddr": "Corral runs one controller; remove it",
    "grestypes": f"it follows from the GPUs ({_MACHINE}.gpus)",
    "nodename": "machines",
    "nodeaddr": _ADDRESS,
    "nodehostname": _ADDRESS,
    "cpus": f"{_MACHINE}.cpus",
    "realmemory": f"{_MACHINE}.memory",
    "gres": f"{_MACHINE}.gpus",
    "feature": f"{_MACHINE}.features",
    "features": f"{_MACHINE}.features",
    "partitionname": "partitions",
    "nodes": f"{_PARTITION}.machines",
    "default": f"{_PARTITION}.default",
    "maxtime": f"{_PARTITION}.max_time",
    "defaulttime": f"{_PARTITION}.default_time",
    "prioritytier": f"{_PARTITION}.priority",
}
"""Where to write what slurm.conf would say with these keys, in lower case."""
