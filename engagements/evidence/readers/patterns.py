"""Kernel name patterns: consultants' regular expressions, bounded in length, memory and time.

RE2 searches in time linear in the name, whatever the expression; it has no lookarounds and no
backreferences (https://github.com/google/re2/wiki/Syntax).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from engagements.common.errors import ApplicationError

LONGEST: Final = 200
MEMORY_BYTES: Final = 2**20
SEARCH_S: Final = 5.0


def validate(pattern: str) -> None:
    """Decline a pattern that is empty, too long, malformed, or too costly to search for."""
    if not pattern:
        raise ApplicationError("Enter a regular expression.", code="pattern.missing")
    if len(pattern) > LONGEST:
        raise ApplicationError(
            f"Shorten the pattern to {LONGEST} characters.", code="pattern.too_long"
        )
    _compiled(pattern)


def found_in(names: Iterable[str], pattern: str, *, within_s: float = SEARCH_S) -> set[str]:
    """Return the names in which `pattern` is found. Declines after `within_s` seconds."""
    wanted, until, found = _compiled(pattern), time.monotonic() + within_s, set()
    for name in names:
        if time.monotonic() > until:
            raise ApplicationError(
                f"The search took more than {within_s:g} s. Simplify the pattern.",
                code="pattern.too_slow",
            )
        if wanted.search(name.encode(errors="replace")):
            found.add(name)
    return found


def _compiled(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.max_mem, options.log_errors = MEMORY_BYTES, False
    try:
        return re2.compile(pattern.encode(errors="replace"), options=options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args else ""
        if "too large" in reason or "repetition size" in reason:
            raise ApplicationError(
                "Simplify the pattern: it takes too much memory.", code="pattern.too_costly"
            ) from error
        raise ApplicationError(
            f"Correct the regular expression: {reason}.", code="pattern.malformed"
        ) from error
