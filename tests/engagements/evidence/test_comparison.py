"""Two profiles side by side, per step where both mark steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engagements.evidence import readers
from engagements.evidence.readers.comparison import compare
from engagements.evidence.readers.facts import KernelTime, TraceFacts
from tests.engagements import evidence_world


def read(name: str) -> TraceFacts:
    facts = readers.read(evidence_world.CAPTURES / name, name)
    assert isinstance(facts, TraceFacts)
    return facts


@pytest.fixture(scope="module")
def prefill() -> TraceFacts:
    return read(evidence_world.PREFILL)


def kernel(name: str, ms: float) -> KernelTime:
    return KernelTime(
        name=name,
        calls=2,
        gpu_ms=ms,
        busy_ms=ms,
        share_of_gpu=0.1,
        share_of_wall=0.1,
        family="attention",
        mean_us=1.0,
    )


def test_a_profile_beside_itself_has_not_changed(prefill: TraceFacts) -> None:
    same = compare(prefill, prefill)
    assert same.ratio == 1
    assert {row.fate for row in (*same.families, *same.kernels)} == {"same"}


def test_each_kernel_has_its_fate_and_the_largest_change_is_first(prefill: TraceFacts) -> None:
    before = replace(prefill, kernels=(kernel("a", 4.0), kernel("b", 2.0), kernel("c", 1.0)))
    after = replace(prefill, kernels=(kernel("a", 1.0), kernel("b", 2.5), kernel("d", 0.2)))
    rows = compare(before, after).kernels
    assert [(row.name, row.fate) for row in rows] == [
        ("a", "faster"),
        ("c", "gone"),
        ("b", "slower"),
        ("d", "appeared"),
    ]
    assert rows[0].ratio == 4
    assert rows[0].before_ms == 2.0, "of one of two steps"
    assert rows[1].ratio is None


def test_a_profile_of_more_steps_is_not_slower(prefill: TraceFacts) -> None:
    longer = replace(
        prefill,
        wall_ms=prefill.wall_ms * 3,
        window=replace(prefill.window, steps=prefill.window.steps * 3),
    )
    assert compare(prefill, longer).of == "step"
    assert compare(prefill, longer).ratio == pytest.approx(1)


def test_without_steps_on_both_sides_the_windows_are_compared(prefill: TraceFacts) -> None:
    decode = read(evidence_world.DECODE)
    assert decode.window.steps == 0
    compared = compare(decode, prefill)
    assert compared.of == "window"
    assert compared.before_wall_ms == decode.wall_ms
