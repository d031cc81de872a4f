"""A recording: columns of device operations, launches and ranges."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Literal

from engagements.evidence.readers import limits
from engagements.evidence.readers.errors import EvidenceError
from engagements.evidence.readers.names import demangled

# Kinds of device operations.
KERNEL, COPY, MEMSET = 0, 1, 2
# Kinds of ranges.
ANNOTATION, MODULE = 0, 1
# Kinds of launch calls.
LAUNCH, GRAPH_LAUNCH = 0, 1
NO_CORRELATION = -1


class Names:
    """Interned texts, C++ names demangled. Beyond the limits, all further texts share one name."""

    REST = "(other names)"

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}
        self._characters = 0
        self.is_full = False

    def number(self, text: str) -> int:
        """Return the number of a text."""
        known = self._numbers.get(text)
        return self._add(text) if known is None else known

    def _add(self, text: str) -> int:
        if len(self.texts) >= limits.NAMES or self._characters > limits.NAME_CHARACTERS:
            self.is_full = True
        short = self.REST if self.is_full else demangled(text)
        if short in self._numbers:
            return self._numbers[short]
        self._numbers[short] = len(self.texts)
        self.texts.append(short)
        self._characters += len(short)
        return self._numbers[short]


@dataclass
class Operations:
    """Device operations, times in microseconds."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    names: array[int] = field(default_factory=lambda: array("i"))
    kinds: array[int] = field(default_factory=lambda: array("b"))
    devices: array[int] = field(default_factory=lambda: array("i"))
    streams: array[int] = field(default_factory=lambda: array("i"))
    correlations: array[int] = field(default_factory=lambda: array("q"))


@dataclass
class Calls:
    """Launches by the host, with time, thread, correlation id and kind."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    threads: array[int] = field(default_factory=lambda: array("i"))
    correlations: array[int] = field(default_factory=lambda: array("q"))
    kinds: array[int] = field(default_factory=lambda: array("b"))


@dataclass
class Ranges:
    """Annotated spans of a host thread (or of a device, where `threads` is negative)."""

    starts: array[float] = field(default_factory=lambda: array("d"))
    ends: array[float] = field(default_factory=lambda: array("d"))
    threads: array[int] = field(default_factory=lambda: array("i"))
    names: array[int] = field(default_factory=lambda: array("i"))
    kinds: array[int] = field(default_factory=lambda: array("b"))


@dataclass
class Recording:
    """The input of a timeline's summary.

    `low_us` and `high_us` are the first start and the last end of anything recorded.
    `synced_us` is time inside calls that wait for a device. `device_names` by device number.
    """

    format: Literal["chrome_trace", "nsight_systems"]
    names: Names = field(default_factory=Names)
    operations: Operations = field(default_factory=Operations)
    calls: Calls = field(default_factory=Calls)
    ranges: Ranges = field(default_factory=Ranges)
    threads: Names = field(default_factory=Names)
    device_names: dict[int, str] = field(default_factory=dict)
    producer: str = ""
    events: int = 0
    low_us: float = float("inf")
    high_us: float = float("-inf")
    synced_us: float = 0.0
    has_calls: bool = False
    warnings: list[str] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Add a warning once, up to the limit."""
        if text not in self.warnings and len(self.warnings) < limits.WARNINGS:
            self.warnings.append(text)

    def check_size(self) -> None:
        """Raise EvidenceError when the recording exceeds a limit."""
        for what, count, most in (
            ("device operations", len(self.operations.starts), limits.DEVICE_OPERATIONS),
            ("launches", len(self.calls.starts), limits.LAUNCHES),
            ("ranges", len(self.ranges.starts), limits.RANGES),
        ):
            if count > most:
                raise EvidenceError(
                    f"The file has more than {most:,} {what}; profile fewer steps",
                    code="evidence.recording_too_large",
                )
