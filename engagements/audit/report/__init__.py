"""The audit report: a section a check, the outcome, and our advice."""

from engagements.audit.report.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
