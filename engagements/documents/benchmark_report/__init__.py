"""The benchmark report: the verdict of one run and everything that it rests on."""

from engagements.documents.benchmark_report.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
