"""Metrics of a launch by name, from either page."""

from __future__ import annotations

from dataclasses import dataclass, field

from engagements.evidence.readers.nsight_compute import metrics, units
from engagements.evidence.readers.nsight_compute.table import number


@dataclass
class Measures:
    """Metrics of a launch: (section, name) or ("", raw name) to value and unit."""

    id: str
    name: str
    values: dict[tuple[str, str], tuple[float | None, str]] = field(default_factory=dict)
    grid: str = ""
    block: str = ""
    device: str = ""
    compute_capability: str = ""
    passes: int = 1
    advice: list[str] = field(default_factory=list)
    rules: dict[str, list[str]] = field(default_factory=dict)

    def take(self, section: str, name: str, cell: str, unit: str) -> None:
        """Store a metric of interest, with or without its section.

        A repeated metric is from another pass; its value replaces the earlier one if present.
        """
        value = number(cell)
        for key in ((section, name), ("", name)):
            if key in metrics.WANTED and (value is not None or key not in self.values):
                self.values[key] = value, unit

    def share(self, *names: str) -> float | None:
        """Return the first of these metrics that is a percentage, as a fraction of 1."""
        return next(
            (s for s in (units.as_share(*f) for f in self._found(names)) if s is not None), None
        )

    def us(self, *names: str) -> float | None:
        """Return the first of these metrics that is a time, in microseconds."""
        return next(
            (t for t in (units.in_us(*f) for f in self._found(names)) if t is not None), None
        )

    def bytes(self, *names: str) -> float | None:
        """Return the first of these metrics in bytes or bytes per second."""
        return next(
            (b for b in (units.in_bytes(*f) for f in self._found(names)) if b is not None), None
        )

    def plain(self, *names: str) -> float | None:
        """Return the first of these metrics in any unit."""
        return next((value for value, _ in self._found(names) if value is not None), None)

    def _found(self, names: tuple[str, ...]) -> list[tuple[float | None, str]]:
        """Yield metrics by raw name or by "Section/Name" of the details page."""
        wanted = [metrics.key(name) for name in names]
        return [self.values[key] for key in wanted if key in self.values]
