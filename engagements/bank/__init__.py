"""Bank files read into plain entries: CAMT.053 and CSV. No Django in here."""

from engagements.bank.entries import Entry, Statement, Unreadable

__all__ = ["Entry", "Statement", "Unreadable"]
