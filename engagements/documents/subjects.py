"""What a document is about, as text: "audit:3", "contract:17", "contract:17:accepted"."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Subject:
    """A row by its noun and key; `act` names a moment in its life where there are several."""

    noun: str
    pk: int
    act: str = ""

    @classmethod
    def read(cls, text: str) -> Subject:
        """Parse a subject. ValueError when it is not noun:key or noun:key:act."""
        noun, key, act = (*text.split(":"), "", "")[:3]
        if not noun or not key.isdecimal() or str(cls(noun, int(key), act)) != text:
            raise ValueError(f"{text!r} is no subject of a document, as contract:17 is.")
        return cls(noun, int(key), act)

    def __str__(self) -> str:
        return ":".join(part for part in (self.noun, str(self.pk), self.act) if part)
