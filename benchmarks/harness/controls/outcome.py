"""What a control came to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Control:
    """`passed` is None where the control was not measured; `detail` says what was seen, or why."""

    name: str
    passed: bool | None
    detail: str

    def as_data(self) -> dict[str, Any]:
        """Plain JSON data, as the record keeps it."""
        return asdict(self)
