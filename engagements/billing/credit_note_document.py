"""The credit note's document: set like an invoice."""

from engagements.billing.document import NOUN, compose
from engagements.billing.document import due_credit_notes as due

__all__ = ["NOUN", "compose", "due"]
