"""The invoice: what it was issued with, and inside it the same for machines."""

from engagements.documents.invoice.context import NOUN, compose, due

__all__ = ["NOUN", "compose", "due"]
