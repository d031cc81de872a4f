"""What a measuring process says is read with suspicion."""

import json

from benchmarks.measuring.progress import LONGEST_HISTORY, Progress


def line(**event: object) -> bytes:
    return json.dumps(event).encode()


def test_a_round_moves_the_page_on() -> None:
    progress = Progress()
    progress.read(line(event="started", replicates=3, rounds=12), at_s=0.1)
    progress.read(
        line(event="round", replicate=1, round=4, ratio=2.4, low=2.1, high=2.7, workload="16x8192"),
        at_s=12.14,
    )

    data = progress.as_data()
    assert data["history"] == [{"at_s": 12.14, "ratio": 2.4, "low": 2.1, "high": 2.7}]
    assert {key: data[key] for key in ("phase", "replicate", "replicates", "round", "rounds")} == {
        "phase": "measuring",
        "replicate": 1,
        "replicates": 3,
        "round": 4,
        "rounds": 12,
    }
    assert data["message"] == "16x8192"


def test_what_was_not_measured_is_none_and_not_zero() -> None:
    data = Progress().as_data()

    assert data["ratio"] is data["low"] is data["high"] is data["round"] is None
    assert data["history"] == []


def test_an_event_without_a_ratio_keeps_the_last_estimate() -> None:
    progress = Progress()
    progress.read(line(event="round", ratio=2.4, low=2.1, high=2.7), at_s=1)
    progress.read(line(event="replicate", replicate=2, ratio=None), at_s=2)

    assert progress.as_data()["ratio"] == 2.4
    assert len(progress.as_data()["history"]) == 1


def test_lines_that_are_no_events_are_counted_and_change_nothing() -> None:
    progress = Progress()
    before = progress.as_data()
    rubbish = (b"\xff\x00", b"[1]", b"7", b"{}", b'{"event": "paid"}', b'{"event": 1}', b"[" * 9999)
    for said in rubbish:
        assert not progress.read(said, at_s=1)

    assert progress.ignored_lines == len(rubbish)
    assert progress.as_data() == before


def test_figures_that_no_database_takes_are_left_out() -> None:
    progress = Progress()
    said = b'{"event":"round","ratio":NaN,"low":1e999,"high":"2","round":-4,"rounds":true}'
    assert progress.read(said, at_s=1)
    progress.read(b'{"event":"round","ratio":1' + b"0" * 400 + b"}", at_s=1)

    data = progress.as_data()
    assert [data[name] for name in ("ratio", "low", "high", "round", "rounds")] == [None] * 5


def test_a_message_is_cleaned_and_cut() -> None:
    progress = Progress()
    progress.read(line(event="round", message="\x1b[2Jbad\x00 \ud800" + "x" * 9999), at_s=1)

    message = progress.as_data()["message"]
    assert "\x00" not in message
    assert "\x1b" not in message
    assert len(message) == 300


def test_a_long_history_is_thinned_and_keeps_its_end() -> None:
    progress = Progress()
    for number in range(1000):
        progress.read(line(event="round", ratio=float(number), low=0.0, high=1.0), at_s=number)

    history = progress.as_data()["history"]
    assert len(history) <= LONGEST_HISTORY
    assert history[-1]["ratio"] == 999.0
    assert [point["at_s"] for point in history] == sorted(point["at_s"] for point in history)


def test_the_few_intervals_outlast_the_thinning() -> None:
    progress = Progress()
    for number in range(600):
        bounds = {"low": 1.0, "high": 3.0} if number % 40 == 39 else {}
        progress.read(line(event="round", ratio=float(number), **bounds), at_s=number)

    history = progress.as_data()["history"]
    assert len(history) <= LONGEST_HISTORY
    assert sum(point["low"] is not None for point in history) == 15
