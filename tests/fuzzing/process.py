"""Fuzzes one parser in this process, until the time is up or something is found."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["engagements.evidence.readers"]):
    # Readers import it when they first need it; then it would not be instrumented.
    importlib.import_module("engagements.evidence.readers.traffic")
    from tests.engagements.evidence.reader_contract import assert_read_or_declined

from tests.fuzzing.targets import TARGETS, Target

# By the clock, since a busy machine takes its time; `survives` has the bound that counts.
MEMORY_MB, LONGEST_S, LONGEST_BYTES = 2048, 300, 20_000


def fuzz(target: Target, folder: Path, seconds: int) -> None:
    """Fuzz a parser. Does not return: libFuzzer ends the process, with 0 when nothing was found."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={folder}/"]
    if target.words:
        words = folder / "words"
        words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))
        options.append(f"-dict={words}")
    options += [f"-rss_limit_mb={MEMORY_MB}", f"-timeout={LONGEST_S}", "-print_final_stats=1"]
    options.append(f"-max_len={LONGEST_BYTES}")

    def once(content: bytes) -> None:
        assert_read_or_declined(target.file_of(content))

    atheris.Setup([sys.argv[0], *options, str(corpus)], once)
    atheris.Fuzz()


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode("latin-1", "ignore"))


if __name__ == "__main__":
    fuzz(TARGETS[sys.argv[1]], Path(sys.argv[2]), int(sys.argv[3]))
