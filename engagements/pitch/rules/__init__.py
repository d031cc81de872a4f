"""The pitch check: somebody else's kernel pitch, put through the six checks. No database in here.

What a pitch says is typed in, or read from a profile; `case_of` makes of it what the checks look
at. Nothing is kept: everything that an answer rests on stands in its link.
"""

from engagements.pitch.rules.inputs import inputs_of
from engagements.pitch.rules.libraries import libraries_of
from engagements.pitch.rules.questions import VendorQuestion, questions
from engagements.pitch.rules.reduction import Read, reduced
from engagements.pitch.rules.shapes import traffic_of
from engagements.pitch.rules.stated import Pitch, PitchError

__all__ = [
    "Pitch",
    "PitchError",
    "Read",
    "VendorQuestion",
    "inputs_of",
    "libraries_of",
    "questions",
    "reduced",
    "traffic_of",
]
