"""What causal attention costs, counted one pair at a time."""

from __future__ import annotations

from kernels import catalogue
from kernels.flash_attention.op import pairs


def test_pairs_are_counted_one_by_one() -> None:
    assert pairs({"seq_len": 57}) == sum(1 for query in range(57) for _ in range(query + 1))


def test_the_usual_case_is_the_larger_workload() -> None:
    larger = catalogue.presets("flash_attention")["h200"].workloads[0].axes
    assert [larger[axis] for axis in ("batch", "heads", "seq_len", "head_dim")] == [
        4,
        32,
        8192,
        128,
    ]
