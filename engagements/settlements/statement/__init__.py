"""The settlement statement: what was paid, what was kept, what went back, and who agreed."""

from engagements.settlements.statement.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
