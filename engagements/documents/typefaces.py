"""Which characters no font of this machine has: on a document they would be left blank for ever."""

from __future__ import annotations

import shutil
import subprocess
import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

FONTS = Path(__file__).resolve().parents[2] / "consultancy" / "static" / "fonts"
# Letters, digits, signs of currencies: what names and amounts are written in. A picture in a
# comment or a joiner between letters that is not drawn takes nothing from what is agreed.
_MEANT = ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "Sc")


def is_meant(character: str) -> bool:
    """Whether a document without this character says something else."""
    return unicodedata.category(character) in _MEANT


def missing(text: str) -> list[str]:
    """The characters of `text` that would be left blank, each once.

    Our own fonts are asked first, then fontconfig. Without fontconfig's command nothing is said
    before the document is render_pdf: the press looks by itself, and makes none.
    """
    wanted = sorted({each for each in text if is_meant(each)} - _own())
    return [each for each in wanted if not _is_installed(each)]


def refusal(characters: Iterable[str]) -> str:
    """What whoever issues a document is told."""
    named = ", ".join(
        f"{each} (U+{ord(each):04X}, {unicodedata.name(each, 'unnamed').lower()})"
        for each in list(dict.fromkeys(characters))[:5]
    )
    return (
        f"No font of this machine has {named}: it would be left blank. Install a font that has it "
        "where the documents are made (on Debian fonts-noto-cjk for Chinese, Japanese and Korean, "
        "fonts-noto-core for most other scripts), or write it in letters that are there."
    )


@cache
def _own() -> frozenset[str]:
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
    asked = [command, f":charset={ord(character):x}", "family"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=10)
    return found.returncode != 0 or bool(found.stdout.strip())
