"""Sanitise text from a side for a terminal, a record or a database.

The text is the candidate's. Line breaks could forge the referee's output, escape sequences redraw
the terminal, and NULs or lone surrogates cannot be stored.
"""

_LEFT_OUT = "\ufffd"


def line(said: object, most: int) -> str:
    """One line of at most `most` printable characters."""
    return " ".join(_printable(word) for word in str(said)[:most].split())


def lines(said: object, most: int) -> str:
    """As `line`, with line breaks and indentation."""
    shown = str(said)[:most].expandtabs(4).splitlines()
    return "\n".join(_printable(each).rstrip() for each in shown)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else _LEFT_OUT for letter in text)
