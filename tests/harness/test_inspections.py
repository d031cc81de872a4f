"""What a side leaves is what stood there when the clock stopped, whatever its dtype."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from benchmarks.harness.devices import contents
from benchmarks.harness.devices.checksums import Checksum
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.failures import Caught
from benchmarks.harness.rounds.checks import CheckTotals
from benchmarks.harness.rounds.inspections import Inspection
from benchmarks.harness.rounds.probes import Probe
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.rounds.shared_state import SharedState
from kernels.definition import TensorSpec

HERE = torch.device("cpu")
SPEC = asdict(TensorSpec(name="q", shape=("n",), dtype="int8", distribution="uniform", scale=90))
LAYOUT = Layout.plan([SPEC], {"n": 512}, "int8", 4)
EXACT = {"max_abs": 0.0, "max_rel": 0.0, "matched_share": 1.0, "hard_cap_abs": 0.0}


def _inspected(finish: Callable[[torch.Tensor, torch.Tensor], object]) -> None:
    """A round whose outputs are to be its inputs; `finish` comes after the clock has stopped."""
    inputs = torch.zeros(LAYOUT.nbytes, dtype=torch.uint8)
    contents.refill(inputs, LAYOUT, contents.generator(HERE))
    outputs = torch.zeros_like(inputs)
    canaries = contents.poison(outputs, LAYOUT)
    probe = Probe(LAYOUT, outputs)
    probe.draw()
    region = LAYOUT.regions[0]
    given, written = (LAYOUT.slots(each, region)[:, :512] for each in (inputs, outputs))
    written[:-1].copy_(given[:-1])
    probe.read()

    def undisturbed() -> bool:
        finish(written, given)
        return True

    checksum = Checksum(HERE)
    setting = SimpleNamespace(
        idle_check=SimpleNamespace(undisturbed=undisturbed),
        checksum=checksum,
        protocol={"checked_calls": 4},
        tolerance=lambda level: EXACT,
        reference=lambda *, state, inputs, axes: {"q": inputs["q"].double()},
    )
    state = SimpleNamespace(tensors={}, seems_intact=lambda: True)
    Inspection(
        setting=cast(Setting, setting),
        role="candidate",
        replicate=0,
        workload={"name": "wide", "axes": {}},
        state=cast(SharedState, state),
        totals=CheckTotals(),
        level="operator",
    ).inspect(
        inputs=(LAYOUT, inputs, inputs.clone()),
        sealed_inputs=checksum.of(inputs),
        outputs=(LAYOUT, outputs),
        canaries=canaries,
        probe=probe,
        round_s=1.0,
        earlier=None,
        ran=range(4),
        chain=None,
    )


def test_integers_written_after_the_round_are_found_even_if_right() -> None:
    with pytest.raises(Caught, match="in 1 of 4 calls q still changed after the clock"):
        _inspected(lambda written, given: written[-1].copy_(given[-1]))


def test_missing_integers_are_a_wrong_result() -> None:
    with pytest.raises(Caught, match="gave a wrong result: q"):
        _inspected(lambda written, given: None)
