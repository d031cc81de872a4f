"""The kinds of findings that disqualify a side."""

from typing import Literal

FindingKind = Literal[
    "probe",
    "output",
    "state",
    "input",
    "overflow",
    "moving",
    "held_back",
    "special",
    "idle",
    "program",
    "threads",
]
