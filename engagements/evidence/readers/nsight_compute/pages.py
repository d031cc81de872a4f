"""The two page formats: a row per metric (details) or per launch (raw)."""

from __future__ import annotations

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.names import demangled
from engagements.evidence.readers.nsight_compute import metrics
from engagements.evidence.readers.nsight_compute.measures import Measures
from engagements.evidence.readers.nsight_compute.table import Table

LONGEST_ADVICE = 600
LONGEST_RULE = 2_000
MOST_ADVICE = 8
_DESCRIBING = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)


def is_details(table: Table) -> bool:
    """Return whether this is the details page."""
    return {"Metric Name", "Metric Value"} <= set(table.header)


def launches_of(table: Table) -> tuple[list[Measures], list[str]]:
    """Return the launches in the order of the export, with warnings about their rows."""
    if "Kernel Name" not in table.header:
        raise EvidenceError("The table has no column “Kernel Name”", code="evidence.column_missing")
    return _details(table) if is_details(table) else _raw(table)


def _details(table: Table) -> tuple[list[Measures], list[str]]:
    launches = Launches()
    warnings: list[str] = []
    least = table.header.index("Metric Value") + 1
    for line, row in table.rows():
        cells = dict(zip(table.header, row, strict=False))
        if len(row) < least or not _is_described(cells):
            warnings.append(f"Line {line:,} is truncated and was left out.")
            continue
        launch, _ = launches.of(cells)
        name, section = cells["Metric Name"].strip(), cells.get("Section Name", "").strip()
        if name:
            launch.take(section, name, cells["Metric Value"], cells.get("Metric Unit", ""))
        elif cells.get("Rule Name"):
            _take_rule(launch, cells)
    return launches.in_order, warnings[: limits.WARNINGS]


def _is_described(cells: dict[str, str]) -> bool:
    return cells.keys() >= {"ID", "Process ID", "Kernel Name", "Metric Name", "Metric Value"}


def _take_rule(launch: Measures, cells: dict[str, str]) -> None:
    """Store the message of an ncu rule."""
    said = " ".join(cells.get("Rule Description", "").split())[:LONGEST_RULE]
    if cells["Rule Name"] in metrics.RULES:
        heard = launch.rules.setdefault(cells["Rule Name"], [])
        if len(heard) < MOST_ADVICE:
            heard.append(said)
    if cells.get("Rule Type") == "OPT" and len(launch.advice) < MOST_ADVICE:
        launch.advice.append(said[:LONGEST_ADVICE])


def _raw(table: Table) -> tuple[list[Measures], list[str]]:
    names = table.header
    described = {name: names.index(name) for name in _DESCRIBING if name in names}
    read = [(place, name) for place, name in enumerate(names) if ("", name) in metrics.WANTED]
    units = [""] * len(names)
    launches = Launches()
    warnings: list[str] = []
    for line, row in table.rows():
        if not row[0].strip() and not launches.in_order:
            # The row of units is not a launch.
            units = (row + units)[: len(names)]
            continue
        if not launches.in_order and not any(units):
            warnings.append(
                "The row of units below the header is missing, so times, bytes and shares are "
                "unknown. Keep it when editing the table."
            )
        if len(row) != len(names):
            warnings.append(
                f"Line {line:,} has {len(row):,} of {len(names):,} values; the present ones were "
                "read."
            )
        if len(row) <= max(described.values()):
            continue
        launch, is_known = launches.of({name: row[place] for name, place in described.items()})
        launch.passes += is_known
        for place, name in read:
            if place < len(row):
                launch.take("", name, row[place], units[place])
    return launches.in_order, warnings[: limits.WARNINGS]


class Launches:
    """Launches by process and number, in the order of the export."""

    def __init__(self) -> None:
        self.in_order: list[Measures] = []
        self._known: dict[tuple[str, str], Measures] = {}

    def of(self, cells: dict[str, str]) -> tuple[Measures, bool]:
        """Return the launch of these cells, and whether it existed before."""
        key = (cells["Process ID"], cells["ID"])
        known = self._known.get(key)
        if known is not None:
            return known, True
        if len(self.in_order) >= limits.MEASURED_LAUNCHES:
            raise EvidenceError(
                f"The export has more than {limits.MEASURED_LAUNCHES:,} launches; profile fewer "
                "kernels",
                code="evidence.recording_too_large",
            )
        made = self._known[key] = _launch(cells)
        self.in_order.append(made)
        return made, False


def _launch(cells: dict[str, str]) -> Measures:
    return Measures(
        id=cells["ID"][:40],
        name=demangled(cells["Kernel Name"]),
        grid=cells.get("Grid Size", "")[:80],
        block=cells.get("Block Size", "")[:80],
        device=cells.get("Device", "")[:80],
        compute_capability=cells.get("CC", "")[:20],
    )
