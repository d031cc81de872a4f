"""The baseline follows the audit: a fitting library is the baseline, or is excluded by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engagements.audit.contract_basis import fitting_libraries
from engagements.audit.models import Audit
from engagements.audit.rules.inputs import names
from engagements.audit.rules.off_the_shelf import named
from engagements.common.errors import ApplicationError
from engagements.contracts.models import ContractVersion


def require(contract: ContractVersion) -> None:
    """Require that a library found by the audit to fit is the baseline, or excluded.

    One fitting library as the baseline is enough; otherwise the exclusion names all of them.
    """
    fits = fitting_libraries(Audit.objects.get(engagement=contract.engagement))
    if contract.excluded_library and not fits:
        raise ApplicationError(
            "The audit found no library that fits. Remove the excluded library.",
            code="contract.nothing_to_exclude",
        )
    baseline = _baseline(contract.benchmark.document)
    if any(names(baseline, each.name) for each in fits):
        return
    missing = [each for each in fits if not names(contract.excluded_library, each.name)]
    if missing:
        listed = ", ".join(named(each) for each in missing)
        raise ApplicationError(
            f"The audit found that {listed} fits. Choose a benchmark with it as the baseline, or "
            "exclude it with a reason.",
            code="contract.other_baseline",
        )


def _baseline(document: Mapping[str, Any]) -> str:
    """The baseline of a benchmark in words: its package, name and title."""
    baseline = document["baseline"]
    return f"{baseline['package']} {baseline['name']} {baseline['title']}"
