"""The invoice: what it was issued with, and inside it the same for machines."""

from engagements.billing.document.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
