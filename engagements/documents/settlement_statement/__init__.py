"""The settlement statement: what was paid, what was kept, what went back, and who agreed."""

from engagements.documents.settlement_statement.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
