"""Whether the words of a baseline name a library: both are written by people."""

from __future__ import annotations

# Words that stand before many libraries' names and tell them apart from none.
_COMMON = ("torch", "pytorch", "nvidia", "nvidia's", "the")


def names(words: str, library: str) -> bool:
    """Whether `words` (a baseline's name, package and title) name the library."""
    telling = [word for word in library.split() if word.lower() not in _COMMON] or library.split()
    return bool(telling) and _plain(telling[0]) in _plain(words)


def _plain(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "")
