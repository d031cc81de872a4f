"""The ladder as measured: every rung higher than the last, each with a profile of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kernels.matmul_ladder import ladder


def test_the_ladder_is_read_without_torch() -> None:
    program = (
        "import sys\n"
        "from kernels.matmul_ladder import ladder\n"
        "ladder.rungs()\n"
        "print(sorted({'torch', 'triton', 'numpy'} & set(sys.modules)))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


def test_each_rung_is_higher_than_the_last_and_below_the_library() -> None:
    shares = [rung.share_of_peak for rung in ladder.rungs("cuda")]
    assert len(shares) >= 5
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < 0.01
    assert shares[-1] < 1.1


def test_a_rung_has_its_file_and_a_meaning() -> None:
    folder = Path(ladder.__file__).parent
    for rung in ladder.rungs():
        assert (folder / rung.file).is_file()
        assert rung.meaning == ladder.MEANINGS[rung.name]


def test_counters_distinguish_the_rungs() -> None:
    found = {rung.name: rung.signature for rung in ladder.rungs("cuda")}
    naive, coalesced, tiled = found["naive"], found["coalesced"], found["tiled"]
    assert naive is not None
    assert coalesced is not None
    assert tiled is not None
    assert (naive.wasted_sectors or 0.0) > 0.5
    assert coalesced.wasted_sectors == tiled.wasted_sectors == 0.0
    assert (tiled.shared_bytes or 0) > (coalesced.shared_bytes or 0)
    assert (tiled.tensor_share or 0.0) < 0.01
    assert (ladder.ladder().library.tensor_share or 0.0) > 0.5
