"""The two pages: one row a metric (details), or one row a launch (raw)."""

from __future__ import annotations

from collections.abc import Iterable

from engagements.evidence import limits
from engagements.evidence.errors import EvidenceError
from engagements.evidence.nsight_compute.measures import Measures
from engagements.evidence.nsight_compute.table import Table, number

LONGEST_ADVICE = 600
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
    """Whether this is the details page."""
    return {"Metric Name", "Metric Value"} <= set(table.header)


def launches_of(table: Table) -> tuple[list[Measures], list[str]]:
    """The launches in the order of the export, and what was odd about their rows."""
    if "Kernel Name" not in table.header:
        raise EvidenceError("The table has no column “Kernel Name”")
    return _details(table) if is_details(table) else _raw(table)


def _details(table: Table) -> tuple[list[Measures], list[str]]:
    found: dict[tuple[str, str], Measures] = {}
    warnings: list[str] = []
    for line, row in table.rows:
        cells = dict(zip(table.header, row, strict=False))
        if len(row) < table.header.index("Metric Value") + 1:
            warnings.append(f"Line {line:,} is cut short and was left out.")
            continue
        key = (cells["Process ID"], cells["ID"])
        launch = found.get(key)
        if launch is None:
            launch = found[key] = _launch(cells)
        name, section = cells["Metric Name"].strip(), cells.get("Section Name", "").strip()
        if name:
            # The same metric again is another pass over the same launch; the last one stays.
            value = number(cells["Metric Value"]), cells.get("Metric Unit", "")
            launch.values[(section, name)] = value
            launch.values.setdefault(("", name), value)
        elif cells.get("Rule Type") == "OPT" and len(launch.advice) < MOST_ADVICE:
            said = " ".join(cells.get("Rule Description", "").split())
            launch.advice.append(said[:LONGEST_ADVICE])
    return list(found.values()), warnings


def _raw(table: Table) -> tuple[list[Measures], list[str]]:
    rows = list(table.rows)
    names = table.header
    # The row of units has no launch of its own.
    is_units = bool(rows) and not rows[0][1][0].strip()
    units = rows.pop(0)[1] if is_units else []
    units += [""] * (len(names) - len(units))
    described = {names.index(name) for name in _DESCRIBING if name in names}
    found: dict[tuple[str, str], Measures] = {}
    warnings: list[str] = []
    for line, row in rows:
        if len(row) != len(names):
            warnings.append(
                f"Line {line:,} has {len(row):,} of {len(names):,} values; what is there was read."
            )
        if len(row) <= max(described):
            continue
        cells = {names[place]: row[place] for place in described}
        key = (cells.get("Process ID", ""), cells.get("ID", ""))
        launch = found.get(key)
        if launch is None:
            launch = found[key] = _launch(cells)
        else:
            launch.passes += 1
        _add(launch, enumerate(row[: len(names)]), names, units, described)
    return list(found.values()), warnings


def _add(
    launch: Measures,
    row: Iterable[tuple[int, str]],
    names: list[str],
    units: list[str],
    described: set[int],
) -> None:
    """Metrics of one row; a pass that lacks one does not take away what another measured."""
    for place, cell in row:
        if place in described:
            continue
        value = number(cell)
        if value is not None or ("", names[place]) not in launch.values:
            launch.values[("", names[place])] = value, units[place]


def _launch(cells: dict[str, str]) -> Measures:
    return Measures(
        id=cells.get("ID", "")[:40],
        name=cells.get("Kernel Name", "")[: limits.LONGEST_NAME],
        grid=cells.get("Grid Size", "")[:80],
        block=cells.get("Block Size", "")[:80],
        device=cells.get("Device", "")[:80],
        compute_capability=cells.get("CC", "")[:20],
    )
