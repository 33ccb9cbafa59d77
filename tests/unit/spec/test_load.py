from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from corral.errors import InputError, Mistake, SpecError
from corral.spec import values
from corral.spec.load import load_cluster, parse_cluster
from corral.spec.model import ClusterSpec, LocalSpec, MachineSpec

MACHINE_KEYS = "address, connection, roles, user, port, key, jump, host_key, cpus, memory, gpus, features"
MISTAKES = yaml.safe_load(Path(__file__).with_name("mistakes.yaml").read_text())
START = "name: lab\nlocal:\nmachines: {node0: , node1: }\n"


def mistakes_of(text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse_cluster(text, "c.yaml")
    return str(caught.value).splitlines()


def test_the_shortest_file_is_a_name_and_a_machine() -> None:
    spec = parse_cluster("name: lab\nmachines: {node0: {address: 192.0.2.10}}\n", "c.yaml")
    assert spec == ClusterSpec(name="lab", machines={"node0": MachineSpec(address="192.0.2.10")})


def test_a_section_without_content_is_an_empty_section() -> None:
    spec = parse_cluster("name: lab\nmachines:\n  node0:\n  node1:\nlocal:\nusers:\n", "c.yaml")
    assert spec.machines == {"node0": MachineSpec(), "node1": MachineSpec()}
    assert spec.local == LocalSpec()
    assert spec.users == {}


def test_words_and_times_that_yaml_would_bend_arrive_as_written() -> None:
    text = (
        "name: no\nlocal:\nmachines: {on: , off: {gpus: {type: 5090, count: 1}}}\n"
        "partitions: {short: {max_time: 60}, day: {max_time: 12:30:00}, long: {max_time: 1-00:00:00}}\n"
    )
    spec = parse_cluster(text, "c.yaml")
    assert spec.name == "no"
    assert list(spec.machines) == ["on", "off"]
    gpus = spec.machines["off"].gpus
    assert gpus is not None
    assert gpus.type == "5090"
    assert [p.max_time for p in spec.partitions.values()] == ["60", "12:30:00", "1-00:00:00"]


def test_an_unknown_key_is_named_with_its_place_and_the_nearest_valid_key() -> None:
    says = f"unknown key 'adress' in machines.node0; valid keys: {MACHINE_KEYS}; did you mean 'address'?"
    assert mistakes_of("name: lab\nmachines:\n  node0: {adress: 192.0.2.1}\n") == [f"c.yaml:3:11: {says}"]


@pytest.mark.parametrize("case", MISTAKES["cluster"], ids=lambda case: case["adds"])
def test_a_wrong_value_is_explained_once_and_in_words(case: dict[str, str]) -> None:
    assert mistakes_of(f"{START}{case['adds']}\n") == [f"c.yaml:{case['says']}"]


@pytest.mark.parametrize("case", MISTAKES["machine"], ids=lambda case: case["adds"])
def test_a_mistake_in_a_machine_is_explained(case: dict[str, str]) -> None:
    text = f"name: lab\nlocal:\nmachines:\n  node0: {case['adds']}\n"
    assert mistakes_of(text) == [f"c.yaml:{case['says']}"]


def test_the_error_has_the_mistakes_as_data_and_in_the_order_of_the_file() -> None:
    with pytest.raises(SpecError) as caught:
        parse_cluster("machines: {}\n", "c.yaml")
    assert caught.value.mistakes == (
        Mistake(1, 1, "machines is empty; it needs at least one entry"),
        Mistake(1, 1, "the file lacks the key 'name'"),
    )
    assert caught.value.exit_code == 2


def test_wrong_fields_and_broken_rules_are_reported_together() -> None:
    text = f"{START}users: {{root: , ada: {{uid: 1}}}}\nslurm: {{conf: {{NodeName: a}}}}\n"
    assert mistakes_of(text) == [
        "c.yaml:4:9: 'root' belongs to the system; give the user another name",
        "c.yaml:4:28: users.ada.uid is too small: 1; use 1000 or more",
        "c.yaml:5:16: NodeName has its own place: machines",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "name: lab\nmachines: {node0: {adress: 192.0.2.1}}\n",
        "name: lab\nlocl: {}\nmachines: {node0: }\n",
        "name: lab\nlocal: 3\nmachines: {node0: }\n",
        "name: lab\nmachines: {node0: {address: 192.0.2.1}}\nstorage: {shared: {server: Node0, path: /srv}}\n",
        "name: lab\nlocal:\nmachines: {a: , b: {roles: [compte]}}\npartitions: {p: {machines: [a, b]}}\n",
        "name: lab\nlocal:\nmachines: {a: {roles: [head]}, B: }\n",
        f"{START}partitions: {{p: {{machines: [node0, NODE1]}}}}\n",
    ],
)
def test_one_slip_is_not_reported_again_as_its_own_consequence(text: str) -> None:
    assert len(mistakes_of(text)) == 1


def test_a_top_level_that_is_no_section_is_refused() -> None:
    assert mistakes_of("- lab\n") == ["c.yaml:1:1: the file must be a section of 'key: value' lines, not a list"]


def test_every_pattern_has_an_explanation_and_no_message_shows_one() -> None:
    text = Path(values.__file__).read_text()
    assert text.count("pattern=") == text.count("title=") == text.count("description=")
    everything_wrong = START.replace("lab", "L!") + (
        "users: {A!: {account: B!}}\nslurm: {conf: {a-b: ' c'}}\n"
        "storage: {shared: {mount: x, path: y, server: '!', nfs: Z}}\n"
        "ssh: {user: '!'}\npartitions: {P!: {max_time: x, default_time: y, machines: ['!']}}\n"
    )
    lines = mistakes_of(everything_wrong)
    assert len(lines) == 14
    assert not [line for line in lines if re.search(r"\^|\$|\[\^|\\", line)]


def test_a_long_or_multiline_value_is_not_quoted() -> None:
    text = f"{START}ssh:\n  key: ~/.ssh/id\n  user: |\n    {'A' * 40}\n    {'B' * 40}\n"
    (mistake,) = mistakes_of(text)
    assert mistake.startswith("c.yaml:6:9: this text is not a valid user name; use lower-case letters")


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    with pytest.raises(InputError, match=re.escape(f"{path}: there is no such file. Try: corral init")):
        load_cluster(path)


def test_a_directory_is_not_a_cluster_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}: cannot be read: Is a directory")):
        load_cluster(tmp_path)


def test_a_file_that_is_not_utf8_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_bytes(b"name: lab\n# caf\xe9\n")
    with pytest.raises(SpecError) as caught:
        load_cluster(path)
    assert caught.value.mistakes == (Mistake(2, 6, "not UTF-8 text; save the file as UTF-8"),)


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: lab\r\nmachines:\r\n  node0:\r\nlocal:\r\n")
    assert load_cluster(path).name == "lab"
