"""The scenario of the engagement that the pages are tested on."""

from __future__ import annotations

from dataclasses import replace

from consultancy.demo.scenarios import SHARED_PREFIX
from engagements.audit.models import Check

# The demonstration computes its findings from evidence; here they are entered by hand.
FINDINGS = {
    Check.HOT: ("pass", "85%", "Attention takes most of a decode step."),
    Check.OFF_THE_SHELF: ("pass", "None reads the shared prompt once", "As documented."),
    Check.STABLE: ("pass", "96% of traffic", "One prompt length and two batch sizes."),
    Check.SURVIVES: ("pass", "18 months", "The next model keeps the attention."),
    Check.MAINTAIN: ("unknown", "", "The customer is still deciding who will own the kernel."),
    Check.WORTH: ("pass", "2.8x", "The prompt is read once instead of once a sequence."),
}
SCENARIO = replace(SHARED_PREFIX, findings=FINDINGS, evidence=None)
