"""The document of a contract: the sealed terms, and once accepted, by whom."""

from engagements.contracts.document.context import NOUN, body_context, compose, due

__all__ = ["NOUN", "body_context", "compose", "due"]
