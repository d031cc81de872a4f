"""What a side has seen of the random contents tells nothing about those to come."""

from __future__ import annotations

from dataclasses import asdict

import torch

from benchmarks.harness import contents
from benchmarks.harness.layouts import Layout
from benchmarks.harness.probes import Probe
from kernels.definition import TensorSpec

LAYOUT = Layout.plan([asdict(TensorSpec(name="x", shape=("n",)))], {"n": 512}, "float32", 2)


def _filled(source: torch.Generator) -> torch.Tensor:
    memory = torch.zeros(LAYOUT.nbytes, dtype=torch.uint8)
    contents.refill(memory, LAYOUT, source)
    return memory


def _positions(source: torch.Generator) -> torch.Tensor:
    probe = Probe(LAYOUT, torch.zeros(LAYOUT.nbytes, dtype=torch.uint8))
    probe.draw(source)
    return probe._targets[0].index.clone()


def test_contents_do_not_follow_from_those_before() -> None:
    source = contents.generator(torch.device("cpu"))
    seen = _filled(source)
    known = source.get_state()
    later = [_filled(source), _positions(source)]
    # Whoever found the generator out from what it drew runs it on.
    source.set_state(known)
    foretold = [_filled(source), _positions(source)]
    assert not torch.equal(seen, later[0])
    assert not torch.equal(later[0], foretold[0])
    assert not torch.equal(later[1], foretold[1])
