"""The scenario of the engagement that the pages are tested on."""

from __future__ import annotations

from dataclasses import replace

from consultancy.demo.scenarios import SHARED_PREFIX

# The demonstration computes its findings from evidence; here they are entered by hand.
FINDINGS = {
    "hot": ("pass", "85%", "Attention takes most of a decode step."),
    "off_the_shelf": ("pass", "None reads the shared prompt once", "As documented."),
    "stable": ("pass", "96% of traffic", "One prompt length and two batch sizes."),
    "survives": ("pass", "18 months", "The next model keeps the attention."),
    "maintain": ("unknown", "", "The customer is still deciding who will own the kernel."),
    "worth": ("pass", "2.8x", "The prompt is read once instead of once a sequence."),
}
SCENARIO = replace(SHARED_PREFIX, findings=FINDINGS, evidence=None)
