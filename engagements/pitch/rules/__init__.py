"""The pitch check: a vendor's kernel pitch as input of the six checks. No database.

`inputs_of` combines typed numbers and profile facts. Nothing is stored; the link holds the input.
"""

from engagements.pitch.rules.inputs import inputs_of
from engagements.pitch.rules.libraries import libraries_of
from engagements.pitch.rules.questions import VendorQuestion, questions
from engagements.pitch.rules.reduction import Read, reduced
from engagements.pitch.rules.shapes import traffic_of
from engagements.pitch.rules.stated import Pitch

__all__ = [
    "Pitch",
    "Read",
    "VendorQuestion",
    "inputs_of",
    "libraries_of",
    "questions",
    "reduced",
    "traffic_of",
]
