"""Characters that no installed font covers; in a PDF they would stay blank."""

from __future__ import annotations

import shutil
import subprocess
import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

FONTS = Path(__file__).resolve().parents[2] / "consultancy" / "static" / "fonts"
# Letters, digits and currency signs carry the meaning of names and amounts. An emoji in a
# comment or an invisible joiner does not.
_SIGNIFICANT_CATEGORIES = ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "Sc")


def is_significant(character: str) -> bool:
    """Whether leaving this character out would change what a document says."""
    return unicodedata.category(character) in _SIGNIFICANT_CATEGORIES


def missing(text: str) -> list[str]:
    """List the significant characters of `text` that no font covers, each once.

    Checks the fonts of the repository, then fontconfig. Without the command fc-list nothing is
    reported here; rendering the document still fails.
    """
    wanted = sorted({each for each in text if is_significant(each)} - _bundled())
    return [each for each in wanted if not _is_installed(each)]


def missing_text(characters: Iterable[str]) -> str:
    """Describe missing characters, up to five, and the remedy."""
    named = ", ".join(
        f"{each} (U+{ord(each):04X}, {unicodedata.name(each, 'unnamed').lower()})"
        for each in list(dict.fromkeys(characters))[:5]
    )
    return (
        f"No installed font has {named}. Install one on the machine that renders documents (on "
        "Debian fonts-noto-cjk for Chinese, Japanese and Korean, fonts-noto-core for most other "
        "scripts), or use other characters."
    )


@cache
def _bundled() -> frozenset[str]:
    from fontTools.ttLib import TTFont

    found: set[str] = set()
    for file in FONTS.glob("*.woff2"):
        with TTFont(file, lazy=True) as font:
            found.update(map(chr, font.getBestCmap()))
    return frozenset(found)


def _is_installed(character: str) -> bool:
    command = shutil.which("fc-list")
    if command is None:
        return True
    query = [command, f":charset={ord(character):x}", "family"]
    found = subprocess.run(query, capture_output=True, text=True, check=False, timeout=10)
    return found.returncode != 0 or bool(found.stdout.strip())
