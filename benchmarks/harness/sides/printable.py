"""What a side says of itself, as it may be shown: on a terminal, in a record, in a database.

Its words are the candidate's to choose. Line breaks would forge lines of the referee's,
escape sequences redraw a terminal, and a zero or half a surrogate pair break who stores them.
"""

from __future__ import annotations

_LEFT_OUT = "\ufffd"


def line(said: object, most: int) -> str:
    """In one line of at most `most` characters, all of them printable."""
    return " ".join(_printable(word) for word in str(said)[:most].split())


def lines(said: object, most: int) -> str:
    """As `line`, with its line breaks and indentation kept."""
    shown = str(said)[:most].expandtabs(4).splitlines()
    return "\n".join(_printable(each).rstrip() for each in shown)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else _LEFT_OUT for letter in text)
