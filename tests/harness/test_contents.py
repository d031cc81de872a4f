"""What a side has seen of the random contents tells nothing about those to come."""

from __future__ import annotations

from dataclasses import asdict

import torch

from benchmarks.harness.devices import contents
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.rounds.probes import Probe
from kernels.definition import TensorSpec

LAYOUT = Layout.plan([asdict(TensorSpec(name="x", shape=("n",)))], {"n": 512}, "float32", 2)


def _filled(source: torch.Generator) -> torch.Tensor:
    memory = torch.zeros(LAYOUT.nbytes, dtype=torch.uint8)
    contents.refill(memory, LAYOUT, source)
    return memory


def test_contents_do_not_follow_from_those_before() -> None:
    source = contents.generator(torch.device("cpu"))
    seen = _filled(source)
    known = source.get_state()
    later = _filled(source)
    # Whoever found the generator out from what it drew runs it on.
    source.set_state(known)
    foretold = _filled(source)
    assert not torch.equal(seen, later)
    assert not torch.equal(later, foretold)


def test_secret_positions_are_where_no_side_looks_and_new_in_every_round() -> None:
    memory = torch.arange(LAYOUT.nbytes // 4, dtype=torch.int32).view(torch.uint8)
    probe = Probe(LAYOUT, memory)
    (target,) = probe._targets
    seen = []
    for _ in range(2):
        # On a GPU a side may find this tensor, read it and write to it.
        target.index.zero_()
        probe.draw()
        assert not target.index.any()
        probe.read()
        seen.append(probe.values()["x"])
        assert torch.equal(seen[-1].view(-1), target.bits[target.secret])
    assert not torch.equal(*seen)
    first = LAYOUT.slots(memory, LAYOUT.regions[0])[:, :1]
    assert ((seen[0] - first >= 0) & (seen[0] - first < 512)).all()
