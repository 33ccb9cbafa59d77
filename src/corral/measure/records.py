"""What gauges told, read back from a job's output as it comes."""

from __future__ import annotations

import json
from typing import Any

from corral.gauges.report import MARK

Record = dict[str, Any]


class Records:
    """Takes output in pieces of any size; yields the records that are whole, and keeps what people may want to read."""

    def __init__(self) -> None:
        self._begun = b""
        self.words: list[str] = []
        """Every other line: warnings, tracebacks."""

    def take(self, output: bytes) -> list[Record]:
        """The records that this piece completes."""
        *whole, self._begun = (self._begun + output).split(b"\n")
        found = []
        for line in (raw.decode(errors="replace") for raw in whole):
            # A rank's lines begin with its number in brackets.
            _, mark, content = line.partition(MARK)
            if mark:
                found.append(json.loads(content))
            else:
                self.words.append(line)
        return found
