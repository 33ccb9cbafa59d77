"""How packages get onto a machine: one apt-get at a time, no daemon started, interruptions mended."""

from __future__ import annotations

INSTALLED = "/etc/corral/installed"
"""What Corral brought to a machine, a line each: `package NAME`, `account NAME`. `down --purge` reads it."""

LEFTOVERS = """
grep -qs 'Written by Corral' /usr/sbin/policy-rc.d && echo "policy-rc.d, left by an interrupted installation"
"""
"""A look that prints what an interrupted installation left behind."""

# Packages start their daemons when installed; without configuration slurmd blocks there for 90 s. The policy
# forbids it only as long as the lock is held, and the kernel lets go of that however the installation ends.
_PREAMBLE = rf"""
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
mkdir -p -m 700 /run/corral; exec 8>>/run/corral/packages.lock
# An interrupted run's own apt-get may still be at work.
flock -w 300 8 || {{ echo "another installation has been at work for five minutes"; exit 1; }}
policy=/usr/sbin/policy-rc.d
trap 'exit 143' TERM HUP INT
if [ ! -e $policy ] || grep -q 'Written by Corral' $policy; then
  trap 'rm -f $policy' EXIT
  cat > $policy <<'END_OF_POLICY'
#!/bin/sh
# Written by Corral: no package starts a daemon while Corral installs packages.
[ -e /run/corral/packages.lock ] && ! flock -n /run/corral/packages.lock true && exit 101
exit 0
END_OF_POLICY
  chmod 755 $policy
fi
# The configuration files are ours: whatever a package brings, the present ones stay.
apt() {{
  apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@" </dev/null
}}
brought() {{ # kind name...
  kind=$1; shift; mkdir -p /etc/corral
  {{ cat {INSTALLED} 2>/dev/null; [ $# = 0 ] || printf "$kind %s\n" "$@"; }} | sort -u > {INSTALLED}.new
  mv {INSTALLED}.new {INSTALLED}
}}
dpkg --force-confdef --force-confold --configure -a </dev/null || exit 1
apt update || exit 1
"""

# Slurm's packages need each other in the very same version: one that is missing may pull all to the next release.
_INSTALL = r"""
plan=$(apt -s --no-install-recommends --fix-broken install {names}) || {{ echo "$plan"; exit 1; }}
jump=$(echo "$plan" | awk '/^Inst (slurm|libslurm)[^ ]* \[/ {{
  split(substr($3, 2), old, "."); split(substr($4, 2), new, ".")
  if (old[1] "." old[2] != new[1] "." new[2]) print $2, $3, "to", $4 }}')
[ -z "$jump" ] || {{
  echo "installing what is missing would upgrade Slurm: $jump. Try: corral up --upgrade"; exit 1
}}
brought package $(echo "$plan" | awk '/^Inst [^ ]+ \(/ {{print $2}}')
apt -y --no-install-recommends --fix-broken install {names}
"""

_UPGRADE = r"""
brought package $(apt -s --no-install-recommends --only-upgrade install {names} | awk '/^Inst [^ ]+ \(/ {{print $2}}')
apt -y --no-install-recommends --only-upgrade install {names}
"""


def install(names: str) -> str:
    """The script that installs these packages and writes down which of them are new to the machine."""
    return _PREAMBLE + _INSTALL.format(names=names)


def upgrade(names: str) -> str:
    """The script that brings installed packages to the version that the distribution offers."""
    return _PREAMBLE + _UPGRADE.format(names=names)
