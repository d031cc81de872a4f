"""Compare the candidate's RMS error with the baseline's own.

The bounds for single elements leave room for part of the work in fewer bits; the RMS error over
millions of elements shows it. Both sides are checked against the same higher-precision reference,
on other contents of the same distribution. Tolerances from before `rms_factor` compare nothing.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from kernels.tolerances import UNIT_ROUNDOFF

Errors = Mapping[str, float | None]
# A baseline may be exact where an honest candidate rounds once more: half a unit is none.
_FLOOR_UNITS = 0.5


def excess(record: Mapping[str, Any]) -> list[str]:
    """Outputs of the candidate that are less precise than the benchmark allows, in words."""
    return [
        f"the candidate's {output} {where} has an RMS error of {candidate:.2g}, "
        f"{candidate / baseline:.2f} times the baseline's; the benchmark allows {factor:g} times"
        for where, factor, output, baseline, candidate in _errors(record)
        if candidate > factor * baseline
    ]


def _errors(record: Mapping[str, Any]) -> Iterator[tuple[str, float, str, float, float]]:
    """Where, the factor, the output, and the RMS errors of both sides over all replicates."""
    document = record["benchmark"]
    steps = [each for replicate in record["replicates"] for each in replicate["workloads"]]
    alone = record["observations"]["operator"] or []
    for level, tolerance, outputs, entries in (
        ("", "tolerance", "program_outputs", [(each["name"], each["checks"]) for each in steps]),
        (
            " alone",
            "operator_tolerance",
            "outputs",
            [(each["name"], each) for each in alone if "rms" in each],
        ),
    ):
        factor = document.get(tolerance, document["tolerance"]).get("rms_factor")
        if factor is None:
            continue
        units = _units(document, outputs)
        for name in dict.fromkeys(name for name, _ in entries):
            found = [each["rms"] for where, each in entries if where == name and "rms" in each]
            for output in found[0]["candidate"] if found else ():
                both = [[each[side].get(output) for each in found] for side in found[0]]
                sides = dict(zip(found[0], map(_pooled, both), strict=True))
                baseline = max(sides["baseline"], _FLOOR_UNITS * units[output])
                yield f"of {name}{level}", factor, output, baseline, sides["candidate"]


def _units(document: Mapping[str, Any], outputs: str) -> dict[str, float]:
    """The unit roundoff of every output's dtype."""
    finest = UNIT_ROUNDOFF["float32"]
    return {
        spec["name"]: UNIT_ROUNDOFF.get(spec["dtype"] or document["dtype"], finest)
        for spec in document["definition"][outputs]
    }


def _pooled(errors: list[float | None]) -> float:
    """The RMS over samples of equal size; infinite where one is."""
    known = [math.inf if error is None else error for error in errors]
    return math.sqrt(sum(error**2 for error in known) / len(known))
