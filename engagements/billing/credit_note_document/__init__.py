"""The credit note: set like the invoice that it corrects."""

from engagements.billing.document.context import NOUN, compose
from engagements.billing.document.context import due_credit_notes as due

__all__ = ["NOUN", "compose", "due"]
