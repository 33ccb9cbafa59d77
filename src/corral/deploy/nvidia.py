"""NVIDIA GPUs of a machine, as the kernel driver and nvidia-smi describe them.

Whole GPUs come from /proc, which costs nothing and tells the device file; only a machine whose GPUs are cut
into MIG instances is asked by nvidia-smi, for their profiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SCRIPT = r"""
pci=0
for vendor in $(grep -lx 0x10de /sys/bus/pci/devices/*/vendor 2>/dev/null); do
  case $(cat "${vendor%vendor}class") in 0x0300*|0x0302*) pci=$((pci + 1));; esac
done
echo "nvidia_pci=$pci"
echo "nvidia_driver=$(cat /sys/module/nvidia/version 2>/dev/null)"
for dir in /proc/driver/nvidia/gpus/*/; do
  [ -r "$dir/information" ] || continue
  minor=$(sed -n 's/^Device Minor:[[:space:]]*//p' "$dir/information")
  [ -c "/dev/nvidia$minor" ] || continue
  near=$(cat "/sys/bus/pci/devices/$(basename "$dir")/local_cpulist" 2>/dev/null)
  echo "gpu=$minor|$near|$(sed -n 's/^Model:[[:space:]]*//p' "$dir/information")"
done
caps=/proc/driver/nvidia/capabilities
for file in $caps/gpu*/mig/gi*/access $caps/gpu*/mig/gi*/ci*/access; do
  [ -r "$file" ] && echo "mig_file=$file $(sed -n 's/^DeviceFileMinor: *//p' "$file")" && mig=yes
done
[ -z "$mig" ] || { nvidia-smi -L | sed 's/^/mig_list=/'; nvidia-smi -q | sed 's/^/mig_query=/'; }
true
"""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU, or one MIG instance of it, as Slurm will know it."""

    type: str
    files: tuple[str, ...]
    """The device files that a job which gets it may open."""
    cores: str = ""
    """The cores next to it, as Slurm counts them; empty when all are equally near or nobody knows."""


def parse(output: str, cpus: Sequence[tuple[int, ...]]) -> tuple[Gpu, ...]:
    """GPUs from what `SCRIPT` printed; `cpus` are the machine's (socket, core, cpu) triples."""
    whole = {}
    for minor, near, model in (value.split("|", 2) for value in _values(output, "gpu")):
        whole[int(minor)] = Gpu(gpu_type(model), (f"/dev/nvidia{minor}",), _cores(near, cpus))
    instances = list(_mig_instances(output, whole))
    cut = {gpu.files[0] for gpu in instances}
    return tuple([gpu for _, gpu in sorted(whole.items()) if gpu.files[0] not in cut] + instances)


def gpu_type(product: str) -> str:
    """Slurm's type for a product name: `NVIDIA GeForce RTX 5090` → `rtx5090`, `NVIDIA H100 80GB HBM3` → `h100`."""
    words = re.sub(r"\b(nvidia|geforce|tesla|quadro|graphics|generation)\b", " ", product.lower()).split()
    if not words:
        return "gpu"
    if words[0] not in ("rtx", "gtx"):
        return words[0].split("-")[0]
    model = "".join(word for word in words[1:] if word.isalnum() and not word.endswith("gb"))
    return model if model.startswith("a") else words[0] + model


def _values(output: str, wanted: str) -> Iterator[str]:
    for line in output.splitlines():
        key, _, value = line.partition("=")
        if key == wanted:
            yield value


def _cores(near: str, cpus: Sequence[tuple[int, ...]]) -> str:
    """The kernel's list of CPUs as Slurm's core numbers: consecutive by socket, whatever the kernel calls them."""
    nearby = _numbers(near)
    cores = sorted({(socket, core) for socket, core, _ in cpus})
    wanted = sorted({cores.index((socket, core)) for socket, core, cpu in cpus if cpu in nearby})
    if not wanted or len(wanted) == len(cores):
        return ""
    return _ranges(wanted)


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _mig_instances(output: str, whole: dict[int, Gpu]) -> Iterator[Gpu]:
    """MIG instances: the profile from `nvidia-smi -L`, the ids from `-q`, the capability files from /proc."""
    minors = dict(value.rsplit(" ", 1) for value in _values(output, "mig_file"))
    profiles: dict[tuple[int, int], str] = {}
    gpu = -1
    for line in _values(output, "mig_list"):
        if match := re.match(r"GPU (\d+):", line):
            gpu = int(match[1])
        elif match := re.match(r"\s+MIG (\S+)\s+Device\s+(\d+):", line):
            profiles[gpu, int(match[2])] = match[1]
    for gpu, index, instance, compute in _mig_ids(output):
        top = f"/proc/driver/nvidia/capabilities/gpu{gpu}/mig/gi{instance}"
        if (gpu, index) not in profiles or f"{top}/access" not in minors or gpu not in whole:
            continue
        caps = (minors[f"{top}/access"], minors[f"{top}/ci{compute}/access"])
        files = (f"/dev/nvidia{gpu}", *(f"/dev/nvidia-caps/nvidia-cap{minor}" for minor in caps))
        yield Gpu(f"{whole[gpu].type}_{profiles[gpu, index]}", files, whole[gpu].cores)


def _mig_ids(output: str) -> Iterator[tuple[int, int, int, int]]:
    """(GPU, index, GPU instance, compute instance) in the order of `nvidia-smi -q`."""
    gpu, index, instance = -1, -1, -1
    for line in _values(output, "mig_query"):
        name, _, value = (part.strip() for part in line.partition(":"))
        if line.startswith("GPU 0"):
            gpu += 1
        elif name == "Minor Number" and value.isdigit():
            gpu = int(value)
        elif name == "Index" and value.isdigit():
            index = int(value)
        elif name == "GPU Instance ID" and value.isdigit():
            instance = int(value)
        elif name == "Compute Instance ID" and value.isdigit() and index >= 0:
            yield gpu, index, instance, int(value)
