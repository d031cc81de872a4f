"""The benchmark report: the verdict of a run with its evidence."""

from engagements.runs.report.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
