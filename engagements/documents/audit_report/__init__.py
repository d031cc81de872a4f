"""The audit report: six checks, what they amount to, and what we suggest."""

from engagements.documents.audit_report.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
