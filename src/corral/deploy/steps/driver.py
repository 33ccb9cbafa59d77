"""NVIDIA's driver from the distribution, on machines with NVIDIA GPUs, where the cluster file names a branch."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.script import Script
from corral.deploy.step import Step

# Ubuntu keeps a package per branch; Debian has one branch per release, in non-free. The open kernel modules
# are the only ones that know Blackwell GPUs such as the RTX 5090.
_PACKAGES = {
    "ubuntu": "nvidia-headless-{branch}-server-open nvidia-utils-{branch}-server",
    "debian": "nvidia-open-kernel-dkms nvidia-smi libcuda1",
}

_LOOK = """
case $(cat /sys/module/nvidia/version 2>/dev/null) in {branch}.*) exit;; esac
for name in {packages}; do
  have=$(dpkg-query -W -f '${{db:Status-Status}} ${{Version}}' $name 2>/dev/null)
  case $have in "installed {branch}."*) ;; *) echo $name;; esac
done
"""
_ACT = """
export DEBIAN_FRONTEND=noninteractive
wait='-o DPkg::Lock::Timeout=300'
apt-get -qq $wait update || exit 1
for name in {packages}; do
  offered=$(apt-cache policy $name | sed -n 's/^  Candidate: //p')
  case $offered in
    {branch}.*) ;;
    *) echo "this machine's package sources offer $name ${{offered:-not at all}}, not branch {branch}."
       echo "Try: {advice}"; exit 1;;
  esac
done
apt-get -y -qq $wait --no-install-recommends install linux-headers-$(uname -r) {packages}
"""
_ADVICE = {
    "ubuntu": "another branch in the cluster file; `apt-cache search nvidia-headless` lists them",
    "debian": "add contrib, non-free and non-free-firmware to the machine's apt sources, or name the branch it offers",
}


def steps(cluster: Cluster, node: Node) -> list[Step]:
    branch = cluster.spec.gpu.driver
    if branch is None or not node.facts.nvidia_gpus_on_pci or node.facts.os not in _PACKAGES:
        return []
    values = {
        "branch": branch,
        "packages": _PACKAGES[node.facts.os].format(branch=branch),
        "advice": _ADVICE[node.facts.os],
    }
    return [
        Script(
            "gpu driver",
            look=_LOOK.format(**values),
            act=_ACT.format(**values),
            doing=f"install NVIDIA's driver {branch}",
            timeout_s=1800,
        )
    ]
