"""The schedules of a contract: its tables, as sealed text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from benchmarks.records import captured_tensors
from engagements.common import money
from engagements.common.errors import ApplicationError
from engagements.contracts import wording
from engagements.contracts.clauses.example import worked_example
from engagements.contracts.wording import Terms, spaced
from engagements.documents import formatting

Schedule = dict[str, Any]
_LETTERS = "ABCDEFGH"
# The slugs that clauses may refer to; `pauses` exists where days were paused.
SLUGS = ("milestones", "benchmark", "workloads", "example", "pauses")


def schedules_of(terms: Terms, benchmark: Mapping[str, Any]) -> list[Schedule]:
    """Every schedule: its letter, title, notes and table.

    {"slug", "letter", "title", "notes": [str], "head": [str], "rows": [[str]], "results": int,
     "numbers": [int]}: `results` counts the last rows that add up the others, and `numbers` lists
    the columns of figures.
    """
    found = [
        _milestones(terms),
        _benchmark(terms, benchmark),
        _workloads(benchmark),
        _example(terms),
        *([_pauses(terms)] if terms["pauses"] else []),
    ]
    return [{"letter": letter, **each} for letter, each in zip(_LETTERS, found, strict=False)]


def _table(
    slug: str,
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    notes: Sequence[str] = (),
    results: int = 0,
    numbers: Sequence[int] = (),
) -> Schedule:
    return {
        "slug": slug,
        "title": title,
        "notes": list(notes),
        "head": list(head),
        "rows": [list(row) for row in rows],
        "results": results,
        "numbers": list(numbers),
    }


def _milestones(terms: Terms) -> Schedule:
    currency, rate = terms["currency"], Decimal(terms["tax_rate_percent"])
    parts = [*terms["released_before"], *terms["milestones"]]
    nets = [Decimal(part["amount"]) for part in parts]
    total = sum(nets, Decimal(0))
    if total != Decimal(terms["fee"]):
        raise ApplicationError(
            f"The milestones add up to {total}, the fee is {terms['fee']}.",
            code="contract.milestones_not_fee",
        )
    taxes = money.tax_shares(iter(nets), rate, currency)
    amounts = [*zip(nets, taxes, strict=True), (total, money.tax_on(total, rate, currency))]
    texts = [[_number(part), part["title"], _released_when(part)] for part in parts] + [
        ["", "The fee", ""]
    ]
    columns = [f"Net in {currency}"]
    columns += [f"Tax {formatting.percent(rate)}", "Gross"] if rate else []
    return _table(
        "milestones",
        "Fee and milestones",
        ["No.", "Milestone", "Invoiced when", *columns],
        [
            text + [formatting.figure(each, currency) for each in _figures(*amount, rate)]
            for text, amount in zip(texts, amounts, strict=True)
        ],
        results=1,
        numbers=range(3, 3 + len(columns)),
    )


def _figures(net: Decimal, tax: Decimal, rate: Decimal) -> list[Decimal]:
    return [net, tax, net + tax] if rate else [net]


def _number(part: Mapping[str, Any]) -> str:
    return "" if "version" in part else str(part["position"])


def _released_when(part: Mapping[str, Any]) -> str:
    if "version" in part:
        return f"released under version {part['version']}"
    if "due_on" in part:
        return f"{wording.day(part['due_on'])} is reached"
    return str(part["released_when"])


def _benchmark(terms: Terms, benchmark: Mapping[str, Any]) -> Schedule:
    sealed, protocol = terms["benchmark"], benchmark["protocol"]
    launch = wording.launch(sealed["launch"])
    return _table(
        "benchmark",
        "Benchmark and protocol",
        ["Part", "As sealed"],
        [
            ["Operator", benchmark["definition"]["title"]],
            [
                "End-to-end step",
                f"{spaced(sealed['program'])}, launched {launch} on both sides",
            ],
            ["Baseline", sealed["baseline"]],
            ["Hardware", wording.hardware(sealed["hardware"])],
            ["Number format", benchmark["dtype"]],
            *_traffic(benchmark),
            *_captured(benchmark),
            ["Target", f"{formatting.plain_number(Decimal(terms['target']))}× end to end"],
            ["Confidence", formatting.share(sealed["confidence"])],
            [
                "Replicates",
                f"{protocol['replicates']}, up to {protocol['max_replicates']} while the interval "
                f"includes the target; {protocol['rounds']} rounds in each",
            ],
            ["Digest", sealed["digest"]],
        ],
    )


def _traffic(benchmark: Mapping[str, Any]) -> list[list[str]]:
    """The share of the customer's calls that the workloads cover, where a log shows it."""
    logged = benchmark.get("traffic")
    if logged is None:
        return []
    text = f"The workloads have the shapes of {formatting.share(logged['covered'])} of "
    text += f"{logged['calls']:,} calls"
    if (time := logged.get("covered_time")) is not None:
        text += f" and of {formatting.share(time)} of their time"
    text += f" ({logged['source']})"
    if tail := logged.get("tail"):
        text += f"; “{tail}” represents the others"
    return [["Traffic", text]]


def _captured(benchmark: Mapping[str, Any]) -> list[list[str]]:
    """The tensors of real calls by workload, with the digest of their file."""
    return [
        [
            "Captured tensors",
            f"{spaced(load['name'])}: {captured_tensors.shapes_text(held)}, changed for every "
            f"call; {held['digest']}",
        ]
        for load in benchmark["workloads"]
        if (held := benchmark.get("captured", {}).get(load.get("captured")))
    ]


def _workloads(benchmark: Mapping[str, Any]) -> Schedule:
    meanings = benchmark["definition"]["axes"]
    return _table(
        "workloads",
        "Workloads",
        ["Workload", "Sizes", "Share of traffic"],
        [
            [
                spaced(each["name"]),
                "; ".join(
                    f"{spaced(meanings[axis])}: {size:,}" for axis, size in each["axes"].items()
                ),
                formatting.share(each["weight"]),
            ]
            for each in benchmark["workloads"]
        ],
        numbers=[2],
    )


def _axes(workload: Mapping[str, Any]) -> list[tuple[str, int]]:
    return list(workload["axes"].items())


def _example(terms: Terms) -> Schedule:
    example = worked_example(terms)
    rows = [[label, *values] for label, values in example["rows"]]
    results = [["Refund to the customer", *example["refunds"]]]
    if example["has_balance"]:
        results.append(["Audit cost due", *example["balances"]])
    return _table(
        "example",
        "Worked example of a settlement",
        [f"Amounts in {terms['currency']}", "Paid before the verdict", "The whole fee paid"],
        [*rows, *results],
        notes=list(_example_notes(example)),
        results=len(results),
        numbers=[1, 2],
    )


def _example_notes(example: Mapping[str, Any]) -> Iterator[str]:
    early = example["early"]
    listed = f"milestone{'s' if example['early_count'] > 1 else ''} {early}"
    if example["released_before"]:
        paid = "the milestones released before this version" + (f" and {listed}" if early else "")
    else:
        paid = f"the milestones due before the verdict ({listed})" if early else "nothing"
    yield (
        f"Two examples of a target that is not met. In the first, the customer has paid {paid}; "
        "in the second, the whole fee."
    )


def _pauses(terms: Terms) -> Schedule:
    return _table(
        "pauses",
        "Pauses",
        ["From", "Until", "Waiting for", "Reason"],
        [
            [
                wording.day(each["starts_on"]),
                wording.day(each["ends_on"]),
                each["waits_for"],
                each["reason"],
            ]
            for each in terms["pauses"]
        ],
    )
