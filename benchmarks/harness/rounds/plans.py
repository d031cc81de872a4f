"""The rounds to run in one workload, and the account of its setup."""

from dataclasses import dataclass
from typing import Any

from benchmarks.harness.rounds.workload_side import WorkloadSide


@dataclass(frozen=True, kw_only=True)
class RoundPlan:
    """The rounds to run in one workload.

    `single_rounds` one-call rounds follow the others. `renews_state`: the state gets new contents
    before one of the rounds. `level`: "program" for the end-to-end step, "operator" for the
    operator alone, "rest" for the step around an empty slot, whose results nobody checks.
    """

    rounds: int
    single_rounds: int = 0
    renews_state: bool = False
    level: str = "program"


@dataclass
class Setup:
    """The untimed setup of a side in one replicate: its time and memory."""

    elapsed_s: float = 0.0
    memory_bytes: int | None = None

    def add(self, workload_side: WorkloadSide) -> None:
        """Add a workload: times add up, and the largest memory counts."""
        self.elapsed_s += workload_side.setup_s
        if workload_side.setup_memory_bytes is not None:
            self.memory_bytes = max(self.memory_bytes or 0, workload_side.setup_memory_bytes)

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data for the record."""
        return {"elapsed_s": self.elapsed_s, "memory_bytes": self.memory_bytes}
