"""Clause texts with placeholders and variants.

Paragraphs are separated by empty lines. `{fee}` is a value of the contract, `{clause:rights}` and
`{schedule:workloads}` refer to another part by its slug. A paragraph may start with conditions:

    [if rights is licence]            the value of `rights` is "licence"
    [if tax is exempt or zero]        the value is one of these
    [if refund_days]                  the contract has a value
    [unless refund_days]              the contract has no value

All of several conditions must hold: [if affiliates][unless sublicensing].
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from engagements.common.errors import ApplicationError

_CONDITION = re.compile(r"\s*\[(if|unless) (\w+)(?: is ([\w ]+))?\]\s*")
_PLACEHOLDER = re.compile(r"\{([^{}\s]*)\}")


@dataclass(frozen=True)
class Condition:
    """A test of one value, or of its presence where `choices` is empty."""

    name: str
    choices: tuple[str, ...]
    is_negated: bool

    def holds(self, values: Mapping[str, str]) -> bool:
        """Whether the paragraph belongs to a contract with these values."""
        value = values[self.name]
        return (value in self.choices if self.choices else bool(value)) is not self.is_negated


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a clause, and when it applies."""

    conditions: tuple[Condition, ...]
    text: str

    def applies(self, values: Mapping[str, str]) -> bool:
        """Whether all conditions hold."""
        return all(condition.holds(values) for condition in self.conditions)

    def placeholders(self) -> list[str]:
        """The names between braces, in their order."""
        return _PLACEHOLDER.findall(self.text)

    def filled(self, values: Mapping[str, str]) -> str:
        """The text with its placeholders replaced by `values`."""
        return _PLACEHOLDER.sub(lambda found: values[found[1]], self.text)


@lru_cache(maxsize=256)
def parse(text: str) -> tuple[Paragraph, ...]:
    """The paragraphs of a clause's text.

    Raises ApplicationError for a condition or a brace that cannot be read.
    """
    blocks = re.split(r"\n\s*\n", text)
    return tuple(_paragraph(block.strip()) for block in blocks if block.strip())


def render(text: str, values: Mapping[str, str]) -> list[str]:
    """The paragraphs of a clause that apply to `values`, filled in."""
    return [each.filled(values) for each in parse(text) if each.applies(values)]


def applies(text: str, values: Mapping[str, str]) -> bool:
    """Whether any paragraph of a clause applies to `values`."""
    return any(each.applies(values) for each in parse(text))


def names(text: str) -> Iterator[str]:
    """Every value that a clause depends on, without references to other parts."""
    for paragraph in parse(text):
        yield from (each.name for each in paragraph.conditions)
        yield from (each for each in paragraph.placeholders() if ":" not in each)


def references(text: str) -> Iterator[str]:
    """Every part that a clause refers to, as "clause:law" or "schedule:workloads"."""
    for paragraph in parse(text):
        yield from (each for each in paragraph.placeholders() if ":" in each)


def _paragraph(block: str) -> Paragraph:
    conditions, rest = [], block
    while found := _CONDITION.match(rest):
        what, name, choices = found.groups()
        chosen = tuple(re.split(r" or ", choices)) if choices else ()
        conditions.append(Condition(name, chosen, what == "unless"))
        rest = rest[found.end() :]
    paragraph = Paragraph(tuple(conditions), " ".join(rest.split()))
    for unread in (*re.findall(r"^\[[^\]]*\]?", rest), *re.findall(r"[{}]", _bare(rest))):
        raise ApplicationError(
            f"“{unread}” cannot be read. Write a condition as [if name] or [if name is value], "
            "and a value as {name}.",
            code="clause.unreadable",
        )
    return paragraph


def _bare(text: str) -> str:
    return _PLACEHOLDER.sub("", text)
