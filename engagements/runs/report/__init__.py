"""The benchmark report: the verdict of one run and everything that it rests on."""

from engagements.runs.report.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
