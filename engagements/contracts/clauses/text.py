"""The text of a contract, rendered once from its clauses and sealed with the data.

    {"summary": {"title", "paragraphs": [str]},
     "clauses": [{"number", "slug", "version", "digest", "title", "paragraphs": [str]}],
     "schedules": […]}, as in `schedules.schedules_of`

`version` and `digest` are those of the published clause. A clause none of whose paragraphs apply
is left out. Documents and pages show these texts and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from engagements.common.errors import ApplicationError
from engagements.contracts.clauses import template
from engagements.contracts.clauses.models import Clause
from engagements.contracts.clauses.schedules import schedules_of
from engagements.contracts.clauses.values import values_of
from engagements.contracts.wording import Terms

# The clause that opens the contract, without a number.
SUMMARY = "summary"


def text_of(
    terms: Terms, benchmark: Mapping[str, Any], clauses: Sequence[Clause], *, ends_on: date
) -> dict[str, Any]:
    """The text of a contract with these data.

    `ends_on` is the last day of the time-box if it starts as agreed. Raises ApplicationError
    where a clause names a value or a part that the contract lacks.
    """
    schedules = schedules_of(terms, benchmark)
    values = values_of(terms, benchmark, ends_on=ends_on)
    applying = [each for each in clauses if template.applies(each.text, values)]
    numbered = [each for each in applying if each.slug != SUMMARY]
    values |= {
        f"clause:{each.slug}": f"Clause {number}" for number, each in enumerate(numbered, start=1)
    }
    values |= {f"schedule:{each['slug']}": f"Schedule {each['letter']}" for each in schedules}
    summary = next((each for each in applying if each.slug == SUMMARY), None)
    return {
        "summary": {
            "title": summary.title if summary else "",
            "paragraphs": _filled(summary, values) if summary else [],
        },
        "clauses": [
            {
                "number": number,
                "slug": each.slug,
                "version": each.number,
                "digest": each.digest,
                "title": each.title,
                "paragraphs": _filled(each, values),
            }
            for number, each in enumerate(numbered, start=1)
        ],
        "schedules": schedules,
    }


def _filled(clause: Clause, values: Mapping[str, str]) -> list[str]:
    try:
        return template.render(clause.text, values)
    except KeyError as error:
        raise ApplicationError(
            f"{clause} refers to {error.args[0]}, which this contract does not have.",
            code="clause.no_such_part",
        ) from error
