"""Ask the candidate's process what changed outside its slot."""

from benchmarks.harness.rounds.settings import Setting
from benchmarks.harness.sides.processes import SideProcess


def of(setting: Setting, side: SideProcess, doing: str) -> list[str]:
    """The changes that the benchmark does not allow; the record gets all. Raises SideFailed."""
    limit_s = setting.protocol["setup_limit_s"]
    answer = side.ask({"type": "audit"}, expect="audited", limit_s=limit_s, doing=doing)
    return setting.reach.add(answer, setting.protocol.get("allowed_reach"))
