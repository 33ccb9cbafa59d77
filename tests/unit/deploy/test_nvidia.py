"""GPUs from what machines print about them."""

from __future__ import annotations

import pytest

from corral.deploy.nvidia import Gpu, gpu_type, parse

# Two sockets of four cores with two threads each; the kernel numbers second threads last.
CPUS = [
    (socket, socket * 4 + core, thread * 8 + socket * 4 + core)
    for thread in (0, 1)
    for socket in (0, 1)
    for core in range(4)
]

MIG = """gpu=0|0-3,8-11|NVIDIA H100 80GB HBM3
gpu=1|4-7,12-15|NVIDIA H100 80GB HBM3
mig_file=/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access 12
mig_file=/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access 13
mig_file=/proc/driver/nvidia/capabilities/gpu0/mig/gi2/access 21
mig_file=/proc/driver/nvidia/capabilities/gpu0/mig/gi2/ci0/access 22
mig_list=GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
mig_list=  MIG 3g.40gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
mig_list=  MIG 1g.10gb     Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)
mig_list=GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-7a3b1f0e-0b3e-4f43-8b53-6f4c1b6a9d10)
mig_query=GPU 00000000:17:00.0
mig_query=    Minor Number                          : 0
mig_query=    MIG Device
mig_query=        Index                             : 0
mig_query=        GPU Instance ID                   : 1
mig_query=        Compute Instance ID               : 0
mig_query=    MIG Device
mig_query=        Index                             : 1
mig_query=        GPU Instance ID                   : 2
mig_query=        Compute Instance ID               : 0
mig_query=GPU 00000000:65:00.0
mig_query=    Minor Number                          : 1
"""


def test_gpus_of_several_types_keep_their_device_files_and_nearby_cores() -> None:
    output = "gpu=1|4-7,12-15|NVIDIA RTX A6000\ngpu=0|0-3,8-11|NVIDIA GeForce RTX 5090\n"
    assert parse(output, CPUS) == (
        Gpu("rtx5090", ("/dev/nvidia0",), "0-3"),
        Gpu("a6000", ("/dev/nvidia1",), "4-7"),
    )


def test_cores_are_left_out_when_all_are_equally_near() -> None:
    assert parse("gpu=0|0-15|NVIDIA H200\n", CPUS) == (Gpu("h200", ("/dev/nvidia0",)),)
    assert parse("gpu=0||NVIDIA H200\n", CPUS) == (Gpu("h200", ("/dev/nvidia0",)),)


def test_mig_instances_take_the_place_of_the_gpu_they_are_cut_from() -> None:
    assert parse(MIG, CPUS) == (
        Gpu("h100", ("/dev/nvidia1",), "4-7"),
        Gpu(
            "h100_3g.40gb",
            ("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"),
            "0-3",
        ),
        Gpu(
            "h100_1g.10gb",
            ("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap21", "/dev/nvidia-caps/nvidia-cap22"),
            "0-3",
        ),
    )


def test_a_machine_without_gpus_has_none() -> None:
    assert parse("nvidia_pci=0\nnvidia_driver=\n", CPUS) == ()


@pytest.mark.parametrize(
    ("product", "kind"),
    [
        ("NVIDIA GeForce RTX 5090", "rtx5090"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "rtx4070tisuper"),
        ("NVIDIA GeForce GTX 1080 Ti", "gtx1080ti"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("Tesla V100-SXM2-16GB", "v100"),
        ("NVIDIA RTX A6000", "a6000"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx6000ada"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA GB200", "gb200"),
    ],
)
def test_a_product_name_becomes_the_type_that_people_would_type(product: str, kind: str) -> None:
    assert gpu_type(product) == kind
