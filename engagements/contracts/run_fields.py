"""The terms about acceptance runs, disputed measurements and the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from django import forms
from django.db import models

from engagements.audit import contract_basis
from engagements.audit.models import Audit
from engagements.audit.rules import off_the_shelf
from engagements.contracts import wording
from engagements.contracts.models import (
    MAX_ACCEPTANCE_RUNS,
    MAX_NOISE_REPEATS,
    MAX_NOTICE_DAYS,
    ContractVersion,
)
from engagements.contracts.terms_field import TermsField

Inconclusive = ContractVersion.Inconclusive


def _fitting_libraries(audit: Audit) -> str:
    fits = contract_basis.fitting_libraries(audit)
    if not fits:
        return "The audit found no library that fits. Leave this empty."
    names = ", ".join(off_the_shelf.named(each) for each in fits)
    return f"The audit found that {names} fits: make it the baseline, or exclude it."


def number_field(name: str, label: str, least: int, most: int, help_text: str) -> forms.Field:
    """A whole number, first that of the column."""
    column = cast(models.Field[int, int], ContractVersion._meta.get_field(name))
    return forms.IntegerField(
        label=label,
        min_value=least,
        max_value=most,
        initial=column.default,
        help_text=help_text,
    )


RUN_FIELDS: Sequence[TermsField] = (
    TermsField(
        "inconclusive",
        "Inconclusive run",
        seal=lambda contract: {
            "rule": str(contract.inconclusive),
            "meaning": wording.MEANING[Inconclusive(contract.inconclusive)],
        },
        logged="rule",
        fact=lambda terms: terms["inconclusive"]["meaning"],
        form=lambda audit: forms.ChoiceField(
            label="An inconclusive run",
            choices=Inconclusive,
            widget=forms.RadioSelect,
            initial=Inconclusive.MISSED,
        ),
    ),
    TermsField(
        "acceptance_runs",
        "Acceptance runs",
        seal=lambda contract: contract.acceptance_runs,
        fact=wording.acceptance_runs,
        form=lambda audit: number_field(
            "acceptance_runs",
            "Acceptance runs",
            1,
            MAX_ACCEPTANCE_RUNS,
            "Attempts inside the time-box. The first met target ends the work.",
        ),
        row="runs",
    ),
    TermsField(
        "run_notice_days",
        "Notice",
        seal=lambda contract: contract.run_notice_days,
        fact=wording.notice,
        form=lambda audit: number_field(
            "run_notice_days",
            "Days of notice",
            0,
            MAX_NOTICE_DAYS,
            "From the notice of an acceptance run to its request.",
        ),
        row="runs",
    ),
    TermsField(
        "noise_repeats",
        "Repeats for noise",
        seal=lambda contract: contract.noise_repeats,
        fact=wording.noise_repeats,
        form=lambda audit: number_field(
            "noise_repeats",
            "Repeats for noise",
            0,
            MAX_NOISE_REPEATS,
            "Runs that noise alone left inconclusive, their interval beside the target. They do "
            "not count as attempts.",
        ),
        row="runs",
    ),
    TermsField(
        "place",
        "Place of measurement",
        seal=lambda contract: contract.place,
        fact=wording.place,
        form=lambda audit: forms.ChoiceField(
            label="Acceptance runs are measured",
            choices=ContractVersion.Place,
            initial=ContractVersion.Place.HOUSE,
            help_text="The customer’s runner downloads the source of each candidate, and signs the "
            "record with the customer’s key. If both measure, a run decides only if their verdicts "
            "are the same and the intervals overlap; otherwise it uses up an attempt.",
        ),
    ),
    TermsField(
        "expert",
        "Expert for disputed measurements",
        seal=lambda contract: contract.expert,
        fact=lambda terms: terms.get("expert", ""),
        form=lambda audit: forms.CharField(
            label="Expert for disputed measurements",
            max_length=200,
            required=False,
            help_text="Name and company, if both parties agree on one now.",
        ),
    ),
    TermsField(
        "excluded_library",
        "Excluded baseline",
        seal=lambda contract: (
            {"library": contract.excluded_library, "reason": contract.exclusion_reason}
            if contract.excluded_library
            else None
        ),
        key="baseline_exclusion",
        logged="library",
        fact=wording.exclusion,
        form=lambda audit: forms.CharField(
            label="Library excluded as the baseline",
            max_length=200,
            required=False,
            help_text=_fitting_libraries(audit),
        ),
    ),
    TermsField(
        "exclusion_reason",
        "Reason of the exclusion",
        seal=None,
        form=lambda audit: forms.CharField(
            label="Reason of the exclusion",
            max_length=1000,
            required=False,
            help_text="A whole sentence. The customer’s signatory accepts it separately.",
        ),
    ),
)
