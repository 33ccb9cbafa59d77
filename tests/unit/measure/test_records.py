"""Records in a job's output."""

from __future__ import annotations

from corral.measure.records import Records


def test_a_record_is_read_once_it_is_whole_and_other_lines_are_kept() -> None:
    records = Records()
    assert records.take(b'starting\n[0] corral-gauge {"kind": "row", "si') == []
    assert records.take(b'ze": 8}\noops\n') == [{"kind": "row", "size": 8}]
    assert records.words == ["starting", "oops"]
