"""The outcome of a control."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Control:
    """A control's outcome; `passed` is None where it was not measured, and `detail` says why."""

    name: str
    passed: bool | None
    detail: str

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data for the record."""
        return asdict(self)
