"""Bank files read into plain entries: CAMT.053 and CSV. No Django in here."""

from engagements.billing.bank_files.entries import Entry, Statement, Unreadable

__all__ = ["Entry", "Statement", "Unreadable"]
