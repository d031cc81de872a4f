"""The contract: the sealed terms in words, and once accepted, by whom."""

from engagements.contracts.document.context import NOUN, compose, due, words

__all__ = ["NOUN", "compose", "due", "words"]
