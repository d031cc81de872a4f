"""What a bank file says came in."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from engagements.common import money

# What banks write where they have no reference.
NO_REFERENCE = frozenset({"", "NOTPROVIDED", "NONREF", "NONE", "NOT PROVIDED"})
REFERENCE_CHARACTERS = 80


class Unreadable(ValueError):
    """The file is not what it claims to be; the text says where, for whoever handed it in."""


@dataclass(frozen=True)
class Entry:
    """Money that came in. `key` is the same for the same entry in whatever file it stands."""

    booked_on: date
    amount: Decimal
    currency: str
    payer: str
    payer_account: str
    text: str
    reference: str = ""
    key: str = ""


@dataclass(frozen=True)
class Statement:
    """The entries of a file; `passed_over` counts those by which no money came in."""

    entries: tuple[Entry, ...]
    passed_over: int


def kept_exactly(amount: Decimal, currency: str) -> Decimal:
    """`amount` (finite) as it is; Unreadable where it is too much to be kept, or is not exact in
    `currency` (ISO 4217)."""
    if abs(amount) >= money.LIMIT:
        raise Unreadable(f"{amount} is more than an amount can be here.")
    try:
        if money.is_exact(amount, currency):
            return amount
    except money.UnknownCurrency as error:
        raise Unreadable(str(error)) from error
    raise Unreadable(f"{amount} is not an exact amount of {currency}.")


def keyed(entries: Iterable[Entry], *, account: str) -> tuple[Entry, ...]:
    """Entries with keys, by the bank's reference where it gives one, else by what they say.

    Two that are alike in one file are two: the second has a key of its own, the same each time.
    An entry without a reference is given one that begins with its key.
    """
    seen: Counter[str] = Counter()
    done = []
    for entry in entries:
        known = entry.reference.strip()
        known = "" if known.upper() in NO_REFERENCE else known
        said = (entry.booked_on.isoformat(), f"{entry.amount.normalize():f}", entry.currency)
        told = (known,) if known else (entry.payer, entry.payer_account, entry.text)
        base = "\x1f".join((account, *said, *told))
        seen[base] += 1
        key = "sha256:" + hashlib.sha256(f"{base}\x1f{seen[base]}".encode()).hexdigest()
        reference = known[:REFERENCE_CHARACTERS] or f"Bank entry {key[7:19]}"
        if seen[base] > 1 and known:
            reference = f"{known[: REFERENCE_CHARACTERS - 8]} ({seen[base]})"
        done.append(replace(entry, key=key, reference=reference))
    return tuple(done)
