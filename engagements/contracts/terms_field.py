"""Declaration of one term of a contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django import forms

from engagements.audit.models import Audit
from engagements.contracts.models import ContractVersion
from engagements.contracts.wording import Terms


@dataclass(frozen=True)
class TermsField:
    """One term: a column of ContractVersion, and how it is entered, sealed and shown.

    `seal` gives its JSON value (None: sealed with another field), under `key` or its name. `fact`
    gives the text beside `label` from sealed terms, empty where there is none to show. `form`
    makes its form field for an audit; fields of the same `row` lie side by side. `logged` names
    the entry of a composite value that the event log keeps. An option chooses between variants of
    clauses (`is_option`).
    """

    name: str
    label: str
    seal: Callable[[ContractVersion], Any] | None
    fact: Callable[[Terms], str] = field(default=lambda terms: "")
    form: Callable[[Audit], forms.Field] | None = None
    row: str = ""
    key: str = ""
    logged: str = ""
    is_repeated: bool = True
    is_option: bool = False

    @property
    def sealed_key(self) -> str:
        """The key of its value in the sealed JSON."""
        return self.key or self.name
