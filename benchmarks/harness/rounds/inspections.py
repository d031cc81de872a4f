"""Inspect a round after its clock has stopped."""

import random
import time
from dataclasses import dataclass
from typing import Any, NoReturn

import torch

from benchmarks.harness.devices.chaining import Chain
from benchmarks.harness.devices.contents import poison_shows
from benchmarks.harness.devices.layouts import Layout
from benchmarks.harness.failures import Caught, Finding, FindingKind, Role
from benchmarks.harness.rounds.checks import CheckTotals, written_outside
from benchmarks.harness.rounds.probes import Probe
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.rounds.shared_state import SharedState
from benchmarks.harness.sides.process_trees import Idleness
from benchmarks.harness.sides.processor_time import RoundTime

_RANDOM = random.SystemRandom()
# Changes that a finding names.
_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """The checks of one side's rounds; the first that fails raises Caught."""

    setting: Setting
    role: Role
    replicate: int
    workload: dict[str, Any]
    state: SharedState
    totals: CheckTotals
    level: str

    def inspect(
        self,
        *,
        inputs: tuple[Layout, torch.Tensor, torch.Tensor],
        sealed_inputs: int,
        outputs: tuple[Layout, torch.Tensor],
        canaries: dict[str, int],
        probe: Probe,
        round_s: float,
        earlier: torch.Tensor | None,
        ran: range,
        chain: Chain | None,
    ) -> None:
        """Check a round; `inputs` is (layout, the side's memory, the referee's copy).

        `sealed_inputs` is the checksum of that copy at its creation, since forged handles can open
        memory on a GPU. `earlier`: the outputs of a round that had the same inputs. `ran`: the
        requested calls. `chain`: how the inputs of each depended on the outputs of the one before.
        """
        if self.level == "rest":
            # The baseline's own code on both sides, in processes that no candidate shares.
            return
        at_the_clock = self._check_probe(outputs[0], canaries, probe, ran)
        if not self.setting.idle_check.undisturbed():
            self._caught("probe", "answered early: it still worked after the clock had stopped")
        self._check_written(*outputs, canaries, ran)
        layout, shared, private = inputs
        if self.setting.checksum.of(private) != sealed_inputs:
            self._caught("input", "wrote to the referee's own copy of its inputs")
        if not torch.equal(shared.view(torch.int64), private.view(torch.int64)):
            self._caught("input", "wrote to its inputs")
        self._check_outputs(layout, private, outputs, round_s, ran, chain)
        # The checked values must be those at the stop of the clock. For integers, where poison does
        # not show, this is the only evidence.
        self._check_late(outputs[0], at_the_clock, probe, ran)
        if earlier is not None:
            self._check_repeats(outputs[0], (earlier, outputs[1]), chained=chain is not None)
        self._require_state(self.state.seems_intact())
        self.totals.calls_probed += len(ran)

    def check_idleness(self, idleness: Idleness) -> None:
        """Raise Caught if the side worked during the other side's turns."""
        if idleness.violation is not None:
            self._caught("idle", idleness.violation)

    def check_threads(self, used: RoundTime) -> None:
        """Raise Caught if the side used more processors than its sealed threads."""
        if used.violation is not None:
            self._caught("threads", used.violation)

    def check_reach(self, changed: list[str]) -> None:
        """Raise Caught if the side changed what runs the step outside its slot."""
        if changed:
            self._caught("program", f"changed outside its slot: {', '.join(changed[:_NAMED])}")

    def check_state(self) -> None:
        """Raise Caught if any of the state changed."""
        self._require_state(self.state.intact())

    def _require_state(self, intact: bool) -> None:
        if not intact:
            self._caught("state", "wrote to the state that both sides share")

    def _caught(self, kind: FindingKind, what: str) -> NoReturn:
        raise Caught(
            Finding(
                kind=kind,
                side=self.role,
                replicate=self.replicate,
                workload=self.workload["name"],
                message=f"the {self.role} {what}",
            )
        )

    def _check_probe(
        self, layout: Layout, canaries: dict[str, int], probe: Probe, ran: range
    ) -> dict[str, torch.Tensor]:
        """The values at the secret positions when the clock stopped, on the CPU."""
        seen = probe.values()
        for region in layout.regions:
            if poison_shows(region):
                at_the_clock = seen[region.name][ran.start : ran.stop]
                missing = (at_the_clock == canaries[region.name]).any(dim=1)
                if bool(missing.any()):
                    self._caught(
                        "probe",
                        f"answered without {region.name}: in {int(missing.sum())} of "
                        f"{len(ran)} calls a secret position was still unwritten when "
                        "the clock stopped",
                    )
        self._check_late(layout, seen, probe, ran)
        return seen

    def _check_late(
        self, layout: Layout, seen: dict[str, torch.Tensor], probe: Probe, ran: range
    ) -> None:
        probe.read()
        settled = probe.values()
        for region in layout.regions:
            changed = seen[region.name] != settled[region.name]
            late = changed[ran.start : ran.stop].any(dim=1)
            if bool(late.any()):
                self._caught(
                    "probe",
                    f"answered early: in {int(late.sum())} of {len(ran)} calls "
                    f"{region.name} still changed after the clock had stopped",
                )

    def _check_written(
        self, layout: Layout, memory: torch.Tensor, canaries: dict[str, int], ran: range
    ) -> None:
        """Require that the calls wrote every element of the outputs, and nothing beside them."""
        if overflow := written_outside(layout, memory, canaries):
            self._caught("overflow", overflow)
        for region in layout.regions:
            if poison_shows(region):
                slots = layout.slots(memory, region)[ran.start : ran.stop, : region.elements]
                left = slots == canaries[region.name]
                if bool(left.any()):
                    self._caught(
                        "output", f"left {int(left.sum())} elements of {region.name} unwritten"
                    )

    def _check_outputs(
        self,
        input_layout: Layout,
        private: torch.Tensor,
        outputs: tuple[Layout, torch.Tensor],
        round_s: float,
        ran: range,
        chain: Chain | None,
    ) -> None:
        """Check random calls in full, drawn only now; all calls where that is cheap.

        The reference of a chained call starts from what the side itself gave before.
        """
        calls = list(ran)
        _RANDOM.shuffle(calls)
        sealed = self.setting.protocol["checked_calls"]
        started = time.perf_counter()
        for done, call in enumerate(calls):
            if done >= sealed:
                all_s = (time.perf_counter() - started) / done * len(calls)
                if all_s > round_s:
                    break
            given = input_layout.tensors(private, call)
            if chain is not None and call > ran.start:
                layout, memory = outputs
                given = chain.mixed(given, layout.tensors(memory, call - 1), {})
            self._check_call(given, outputs, call)

    def _check_repeats(
        self, layout: Layout, rounds: tuple[torch.Tensor, torch.Tensor], *, chained: bool
    ) -> None:
        tolerance = self.setting.tolerance(self.level)
        if failure := self.totals.check_repeats(layout, rounds, tolerance, chained=chained):
            self._caught("moving", failure)

    def _check_call(
        self, inputs: dict[str, torch.Tensor], outputs: tuple[Layout, torch.Tensor], call: int
    ) -> None:
        setting = self.setting
        reference = setting.reference if self.level == "operator" else setting.reference_step
        assert reference is not None
        expected = reference(state=self.state.tensors, inputs=inputs, axes=self.workload["axes"])
        layout, memory = outputs
        tensors = layout.tensors(memory, call)
        if failure := self.totals.check_call(tensors, expected, setting.tolerance(self.level)):
            self._caught("output", failure)
