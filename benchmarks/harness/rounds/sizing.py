"""Size the rounds of a workload: the number of calls."""

import math
from collections.abc import Mapping

from benchmarks.harness.failures import Role
from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.rounds.shared_state import SharedState
from benchmarks.harness.rounds.workload_side import WorkloadSide

_SIZING_ROUNDS = 3
_LARGEST_STEP = 16
_CACHES_TO_OUTGROW = 4
_SHARE_OF_FREE_MEMORY = 0.25
# Aims above the sealed round length, which saves a sizing step.
_MARGIN = 1.1


class Sizing:
    """Finds the number of calls by trial."""

    def __init__(
        self, setting: Setting, workload_sides: Mapping[Role, WorkloadSide], state: SharedState
    ) -> None:
        self._setting = setting
        self._workload_sides = workload_sides
        self._state = state

    def bind(self, calls: int) -> None:
        """Give both sides room for `calls` calls."""
        for workload_side in self._workload_sides.values():
            workload_side.bind(calls)

    def calls(self) -> int:
        """The calls with which the faster side's round is as long as the protocol asks.

        Based on the time of one more call: the fixed cost of a round must not count as calls.
        """
        protocol = self._setting.protocol
        most = min(protocol["max_calls"], self._calls_that_fit())
        least = min(most, self._calls_that_outgrow_the_cache())
        if most == 1:
            return 1
        round_us = 1e3 * _MARGIN * protocol["round_ms"]
        single_us = self._fastest_us(1)
        calls = min(most, max(least, 2, min(_LARGEST_STEP, math.ceil(round_us / single_us))))
        while True:
            per_call_us = (self._fastest_us(calls) - single_us) / (calls - 1)
            wanted = math.ceil(round_us / per_call_us) if per_call_us > 0 else most
            wanted = max(least, min(most, wanted))
            if wanted <= calls:
                return wanted
            calls = min(wanted, calls * _LARGEST_STEP)

    def _fastest_us(self, calls: int) -> float:
        """The fastest of a few rounds of either side, since noise only lengthens a round."""
        self.bind(calls)
        return min(
            workload_side.round_us()
            for workload_side in self._workload_sides.values()
            for _ in range(_SIZING_ROUNDS)
        )

    def _calls_that_fit(self) -> int:
        # Both sides' arenas and the referee's own copies.
        room = self._setting.device.free_bytes() * _SHARE_OF_FREE_MEMORY
        return max(1, int(room / (3 * self._workload_sides["baseline"].call_bytes())))

    def _calls_that_outgrow_the_cache(self) -> int:
        cache = self._setting.device.cache_bytes()
        if cache is None:
            return 1
        missing = _CACHES_TO_OUTGROW * cache - self._state.layout.nbytes
        return max(1, math.ceil(missing / self._workload_sides["baseline"].call_bytes()))
