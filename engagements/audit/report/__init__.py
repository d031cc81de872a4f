"""The audit report: six checks, what they amount to, and what we suggest."""

from engagements.audit.report.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
