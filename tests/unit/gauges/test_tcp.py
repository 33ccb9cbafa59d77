from __future__ import annotations

import threading
import time

import pytest

from corral.gauges.tcp import Station, latency, throughput


def shortly(port: int) -> float:
    return throughput("127.0.0.1", port, window_s=0.1, ramp_s=0.05)


def test_what_arrives_in_the_window_is_the_rate() -> None:
    with Station("127.0.0.1") as station:
        before = time.monotonic()
        rate = shortly(station.port)
        assert time.monotonic() - before < 5
    # Loopback carries gigabits; megabits would mean that time is lost somewhere.
    assert rate > 1e8


def test_both_directions_can_be_measured_at_once() -> None:
    rates: dict[str, float] = {}
    with Station("127.0.0.1") as here, Station("127.0.0.1") as there:
        ways = {"to": there.port, "from": here.port}
        threads = [
            threading.Thread(target=lambda way=way, port=port: rates.update({way: shortly(port)}))
            for way, port in ways.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(rates) == set(ways)
    assert min(rates.values()) > 1e8


def test_a_byte_goes_there_and_back_in_less_than_milliseconds() -> None:
    with Station() as station:
        assert 0 < latency("127.0.0.1", station.port, rounds=50) < 0.01


def test_a_measurement_leaves_no_streams_behind() -> None:
    before = threading.active_count()
    with Station("127.0.0.1") as station:
        shortly(station.port)
    deadline = time.monotonic() + 5
    while threading.active_count() > before:
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.01)


def test_a_closed_station_takes_nobody() -> None:
    station = Station("127.0.0.1")
    station.close()
    with pytest.raises(OSError, match="refused"):
        latency("127.0.0.1", station.port)
