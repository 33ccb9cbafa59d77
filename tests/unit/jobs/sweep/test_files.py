"""Trials from files: CSV, JSON Lines, text, YAML and JSON, with values as they were written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from corral.errors import InputError
from corral.jobs.sweep.declare import declaration
from corral.jobs.sweep.space import space


def listed(folder: Path, name: str, text: str) -> list[str]:
    path = folder / name
    path.write_text(text)
    return [trial.text for trial in space(declaration(list_file=path)).trials]


def from_file(folder: Path, text: str, **options: object) -> list[str]:
    path = folder / "sweep.yaml"
    path.write_text(text)
    return [trial.text for trial in space(declaration(file=path, **options)).trials]  # type: ignore[arg-type]  # options of several types


def test_each_row_of_a_csv_is_a_trial_and_an_empty_cell_leaves_the_default(tmp_path: Path) -> None:
    text = 'lr,prompt\r\n1e-3,"a, b"\r\n\r\n1.50,\r\n'
    assert listed(tmp_path, "t.csv", text) == ["lr=1e-3 prompt=a, b", "lr=1.50"]


def test_each_object_of_json_lines_is_a_trial_with_its_numbers_as_written(tmp_path: Path) -> None:
    text = '{"lr": 1.50e-3, "amp": true, "note": "x y"}\n\n{"lr": 2, "amp": null}\n'
    assert listed(tmp_path, "t.jsonl", text) == ["lr=1.50e-3 amp=true note=x y", "lr=2"]


def test_each_line_of_a_text_is_a_trial(tmp_path: Path) -> None:
    assert listed(tmp_path, "t.txt", "# two\nlr=1e-3 note='a b'  # first\n\nlr=1e-4\n") == [
        "lr=1e-3 note=a b",
        "lr=1e-4",
    ]


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("t.yaml", "x", "must end in .csv, .jsonl, .txt"),
        ("t.csv", "a,b\n1\n", "line 2: 1 cells under 2 names"),
        ("t.csv", "a,a\n1,2\n", "line 2: a is given twice"),
        ("t.csv", "a,b\n", "there are no trials"),
        ("t.csv", 'a\n"b\n', "no valid CSV"),
        ("t.csv", "a b\n1\n", "'a b' is no name"),
        ("t.csv", 'a\n"1\n2"\n', "line break"),
        ("t.jsonl", "[1]\n", "line 1: no JSON object"),
        ("t.jsonl", '{"a": 1}\n{"a": \n', "line 2: no valid JSON"),
        ("t.jsonl", '{"a": [1]}\n', "is no single value"),
        ("t.jsonl", '{"a": 1, "a": 2}\n', "a is given twice"),
        ("t.jsonl", '{"a": null}\n', "has no parameters"),
        ("t.txt", "a=1\nlr 3\n", "line 2: 'lr' is no NAME=VALUE"),
        ("t.txt", "a='1\n", "a quote is not closed"),
    ],
)
def test_a_mistake_in_a_list_names_file_and_line(tmp_path: Path, name: str, text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        listed(tmp_path, name, text)
    assert str(caught.value).startswith(f"--list {tmp_path / name}")
    assert what in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"gone.csv: cannot be read: No such file"):
        declaration(list_file=tmp_path / "gone.csv")
    (tmp_path / "latin.csv").write_bytes(b"a\n\xe9\n")
    with pytest.raises(InputError, match=r"latin.csv: cannot be read: not UTF-8"):
        declaration(list_file=tmp_path / "latin.csv")


YAML = """
grid:
  lr: [1e-3, 0.00010, 3..4]
  amp: yes, no
random: {act: [relu, gelu], width: int:8..64}
trials: 2
list:
  - {model: small}
  - {model: large, depth: 12}
"""


def test_a_yaml_file_declares_a_whole_sweep_with_values_as_written(tmp_path: Path) -> None:
    found = from_file(tmp_path, YAML)
    assert len(found) == 2 * 4 * 2 * 2
    assert found[0].startswith("model=small lr=1e-3 amp=yes act=")
    assert found[-1].startswith("model=large depth=12 lr=4 amp=no act=")


def test_the_same_may_be_written_as_json(tmp_path: Path) -> None:
    as_json = '{"grid": {"lr": [1e-3, 0.00010], "seed": "0..1"}}'
    assert from_file(tmp_path, as_json) == from_file(tmp_path, "grid: {lr: [1e-3, 0.00010], seed: 0..1}")


def test_options_add_to_a_file_and_have_the_last_word_on_trials_and_seed(tmp_path: Path) -> None:
    text = "random: {lr: log:1e-5..1e-1}\ntrials: 9\nseed: 7\n"
    assert len(from_file(tmp_path, text, grid=["x=1,2"], trials=3)) == 6
    assert from_file(tmp_path, text, trials=9, seed=1) != from_file(tmp_path, text)
    with pytest.raises(InputError, match="lr is declared twice"):
        from_file(tmp_path, text, random=["lr=0.0..1.0"])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("grids: {}", "'grids' is no key of a sweep. The keys are grid, random"),
        ("- 1", "must be names with values"),
        ("grid: [1]", "grid: must be names with values"),
        ("grid: {lr: }", "grid: lr: a value is empty"),
        ("grid: {lr: []}", "grid: lr: there are no values"),
        ("grid: {lr: [[1]]}", "is no single value"),
        ("grid: {1r: 2}", "'1r' is no name"),
        ("random: {lr: 'log:x'}", "is no interval"),
        ("trials: many", "trials: 'many' is no whole number"),
        ("list: {a: 1}", "list must be a list of trials"),
        ("grid:\n  lr: 1\n  lr: 2", "line 2: lr is given twice"),
        ("grid: {lr: ", "no valid YAML"),
        ("grid: &a [*a]", "no valid YAML"),
        ('{"grid": }', "no valid JSON"),
        ('{"grid": ' + "[" * 100_000, "no valid JSON"),
        ("", "nothing to sweep over"),
    ],
)
def test_a_mistake_in_a_file_names_its_place(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        from_file(tmp_path, text)
    assert what in str(caught.value)


def test_where_yaml_cannot_be_read_json_still_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InputError, match=r"PyYAML is not installed. Write the same as JSON"):
        from_file(tmp_path, "grid: {lr: 1}")
    assert from_file(tmp_path, '{"grid": {"lr": 1}}') == ["lr=1"]
