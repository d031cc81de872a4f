"""What the engagement of the pages' story is about."""

from __future__ import annotations

from dataclasses import replace

from consultancy.demo.chapters import SHARED_PREFIX
from engagements.models import Check

# The demonstration's own is computed from its dossier; here a person found what was found.
FINDINGS = {
    Check.HOT: ("pass", "85%", "Attention takes most of a decode step."),
    Check.OFF_THE_SHELF: ("pass", "None reads the shared prompt once", "As documented."),
    Check.STABLE: ("pass", "96% of traffic", "One prompt length and two batch sizes."),
    Check.SURVIVES: ("pass", "18 months", "The next model keeps the attention."),
    Check.MAINTAIN: ("unknown", "", "The customer is still deciding who will own the kernel."),
    Check.WORTH: ("pass", "2.8x", "The prompt is read once instead of once a sequence."),
}
CHAPTER = replace(SHARED_PREFIX, findings=FINDINGS, dossier=None)
