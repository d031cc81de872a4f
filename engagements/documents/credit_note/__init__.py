"""The credit note: set like the invoice that it corrects."""

from engagements.documents.invoice.context import NOUN, compose
from engagements.documents.invoice.context import due_credit_notes as due

__all__ = ["NOUN", "compose", "due"]
