"""Shape traffic: one row a call or one a shape, in three formats, with figures by hand."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engagements.evidence.readers import TrafficFacts, limits, read
from tests.errors import unreadable

if TYPE_CHECKING:
    import pandas as pd


def facts_of(content: str | bytes) -> TrafficFacts:
    encoded = content.encode() if isinstance(content, str) else content
    facts = read(io.BytesIO(encoded), "made by a test")
    assert isinstance(facts, TrafficFacts)
    return facts


def frame() -> pd.DataFrame:
    """Ten calls: eight of one shape, one each of two others, which take longer."""
    import pandas as pd

    return pd.DataFrame(
        {
            "batch": [1] * 8 + [2, 4],
            "seq_len": [128] * 8 + [256, 4096],
            "duration_us": [1.0] * 8 + [4.0, 8.0],
            "timestamp": range(10),
            "model": ["llama"] * 9 + ["qwen"],
        }
    )


def histogram() -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "batch": [1, 2, 4],
            "seq_len": [128, 256, 4096],
            "count": [8, 1, 1],
            "duration_us": [1.0, 4.0, 8.0],
        }
    )


def parquet(table: pd.DataFrame) -> bytes:
    out = io.BytesIO()
    table.to_parquet(out)
    return out.getvalue()


def comma_separated(table: pd.DataFrame) -> str:
    return table.to_csv(index=False)


def json_lines(table: pd.DataFrame) -> str:
    return table.to_json(orient="records", lines=True)


@pytest.mark.parametrize("table", [frame(), histogram()], ids=["calls", "histogram"])
@pytest.mark.parametrize(
    "written",
    [lambda t: t.to_csv(index=False), parquet, json_lines],
    ids=["csv", "parquet", "json"],
)
def test_a_log_and_its_histogram_say_the_same_in_every_format(
    written: Callable[[pd.DataFrame], str | bytes], table: pd.DataFrame
) -> None:
    facts = facts_of(written(table))
    entropy = -(0.8 * math.log(0.8) + 0.2 * math.log(0.1))
    assert facts.axes == ("batch", "seq_len")
    assert (facts.calls, facts.distinct_shapes) == (10, 3)
    assert facts.effective_shapes == pytest.approx(math.exp(entropy))
    assert facts.coverage == {"1": pytest.approx(0.8), "4": 1.0, "16": 1.0}
    assert facts.shapes_for_calls == {"0.8": 1, "0.95": 3, "0.99": 3}
    assert facts.coverage_of_time == {"1": pytest.approx(0.4), "4": 1.0, "16": 1.0}
    assert (facts.p50, facts.p99, facts.duration_unit) == (1.0, 8.0, "us")
    assert facts.shapes[0].axes == {"batch": "1", "seq_len": "128"}


def test_the_tail_is_all_but_the_sixteen_most_frequent_shapes() -> None:
    rows = [f"{n},{100 if n < 16 else 1},{1 if n < 16 else 100}" for n in range(24)]
    facts = facts_of("seq,count,latency_ms\n" + "\n".join(rows))
    assert facts.coverage["16"] == pytest.approx(1600 / 1608)
    assert facts.tail_share_of_time == pytest.approx(800 / 2400)


def test_without_durations_nothing_is_said_of_time() -> None:
    facts = facts_of("m,n\n1,2\n1,2\n")
    assert (facts.tail_share_of_time, facts.p50, facts.p99) == (None, None, None)
    assert (facts.shapes_for_time, facts.curve_of_time) == (None, None)
    assert facts.effective_shapes == pytest.approx(1.0)
    assert any("No durations" in warning for warning in facts.warnings)


def test_a_total_is_divided_by_its_calls() -> None:
    assert facts_of("m,count,total_ms\n1,10,50\n2,10,500\n").p50 == pytest.approx(5.0)


def test_drift_follows_the_timestamps_where_there_are_any() -> None:
    rows = [f"{'new' if t >= 60 else 'old'},{t}" for t in range(90)]
    facts = facts_of("shape,timestamp\n" + "\n".join(sorted(rows, key=hash)))
    assert facts.drift is not None
    assert (facts.drift.distance, facts.drift.new_share) == (pytest.approx(1), pytest.approx(1))
    moments = [f"a,2026-01-{day:02d}T00:00:00Z" for day in range(1, 31)]
    steady = facts_of("shape,timestamp\n" + "\n".join(moments)).drift
    assert steady is not None
    assert steady.distance == 0


def test_the_order_of_a_histogram_is_no_drift() -> None:
    assert facts_of(histogram().to_csv(index=False)).drift is None


def test_models_are_counted_and_are_no_axis() -> None:
    facts = facts_of(frame().to_csv(index=False))
    assert facts.models == {"llama": 9, "qwen": 1}


def test_numbers_of_requests_are_no_axis() -> None:
    facts = facts_of("request_id,seq\n1,128\n2,128\n3,128\n")
    assert (facts.axes, facts.distinct_shapes) == (("seq",), 1)
    assert any("request_id" in warning for warning in facts.warnings)


def test_objects_in_json_lines_become_axes() -> None:
    facts = facts_of('{"shape": {"m": 1, "n": 2.0}, "dtype": "bf16"}\n' * 3)
    assert facts.shapes[0].axes == {"shape.m": "1", "shape.n": "2", "dtype": "bf16"}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_columns_are_separated_by_what_the_header_uses(delimiter: str) -> None:
    assert facts_of(f"m{delimiter}n\n1{delimiter}2\n").axes == ("m", "n")


def test_counts_and_durations_that_are_none_are_left_out_and_said() -> None:
    facts = facts_of("m,count,duration_ms\n1,2,5\n2,-1,5\n3,nan,5\n4,1,inf\n5,1e99,5\n6,x,5\n")
    assert (facts.calls, facts.p99) == (3, 5)
    assert any("4 rows without a positive count" in warning for warning in facts.warnings)
    assert any("1 rows have no duration" in warning for warning in facts.warnings)


def test_what_a_spreadsheet_would_run_stays_text() -> None:
    formula = "=cmd|' /C calc'!A0"
    assert facts_of(f'm,n\n"{formula}",1\n').shapes[0].axes["m"] == formula


def test_a_file_on_disk_is_read_in_place(tmp_path: Path) -> None:
    file = tmp_path / "traffic"
    file.write_bytes(parquet(frame()))
    facts = read(file)
    assert isinstance(facts, TrafficFacts)
    assert facts.calls == 10


def test_the_curve_is_bounded_however_many_shapes_there_are() -> None:
    facts = facts_of("seq\n" + "\n".join(map(str, range(5000))))
    assert len(facts.curve_of_calls.shapes) <= limits.CURVE_POINTS
    assert facts.curve_of_calls.shares[-1] == 1.0
    assert len(facts.shapes) == limits.LISTED_SHAPES


def test_more_shapes_than_are_kept_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TRAFFIC_SHAPES", 10)
    with unreadable("evidence.too_many_shapes"):
        facts_of("seq\n" + "\n".join(map(str, range(11))))


@pytest.mark.parametrize(
    ("content", "code", "at"),
    [
        ("m,n\n", "evidence.no_calls", ""),
        ("1,2\n3,4\n", "evidence.no_columns", "line 1"),
        ("count,duration_ms\n1,2\n", "evidence.no_axis", "line 1"),
        ("m,m\n1,2\n", "evidence.duplicate_column", "line 1"),
        ("m,n\n1,2\n1,2,3\n", "evidence.row_length", "line 3"),
        ('{"m": 1}\n{"m": \n', "evidence.json_invalid", "line 2"),
        ('{"m": 1}\n[1]\n', "evidence.json_invalid", "line 2"),
        ('{"m": 1}\n{"n": 1}\n', "evidence.key_mismatch", "line 2"),
        ('{"m": 1}\n{"m": ' + "9" * 4_000_000 + "}\n", "evidence.line_too_long", "line 2"),
        (parquet(frame())[:-8], "evidence.table_invalid", ""),
        (parquet(frame())[:40] + b"\0" * 400 + b"PAR1", "evidence.table_invalid", ""),
        (",".join(f"a{n}" for n in range(100)) + "\n", "evidence.too_many_columns", ""),
        ("m,count\n1,-1\n2,none\n", "evidence.no_calls", "column “count”"),
        ('[{"m": 1}, {"m": 2}]', "evidence.json_array", "first bytes"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * 50, "evidence.unknown_format", "first bytes"),
    ],
)
def test_a_broken_log_fails_with_a_code_and_place(content: str | bytes, code: str, at: str) -> None:
    with unreadable(code, at=at):
        facts_of(content)
