"""Collect what a candidate's process reports of its reach outside its slot."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.harness.sides import printable

_MOST, _LETTERS = 100, 200


@dataclass
class Reach:
    """Modules that the candidate imported, and names outside its slot that it changed."""

    imports: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)

    def add(self, answer: dict[str, Any], allowed: Sequence[str] | None) -> list[str]:
        """Add a side's report, which is untrusted; returns the changes that are not allowed.

        All are where `allowed` is None, as in benchmarks from before it existed.
        """
        found = _texts(answer.get("changed"))
        self.imports = set(sorted(self.imports | set(_texts(answer.get("imports"))))[:_MOST])
        self.changed = set(sorted(self.changed | set(found))[:_MOST])
        return [] if allowed is None else [each for each in found if each not in allowed]

    def as_data(self, patches: Sequence[str]) -> dict[str, Any]:
        """The record's `reach`; `patches` come from the source (`candidate_source`)."""
        return {
            "imports": sorted(self.imports),
            "patches": list(patches),
            "changed": sorted(self.changed),
        }


def _texts(said: object) -> list[str]:
    if not isinstance(said, list):
        return []
    return [printable.line(each, _LETTERS) for each in said[:_MOST] if each]
