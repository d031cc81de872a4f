"""The demonstration plays the whole promise with real processes, and leaves real data alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.harness.records import records
from benchmarks.harness.verdict import verdicts

ROOT = Path(__file__).resolve().parents[2]


def demonstrate(home: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "BROKER_URL"}
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "demo", "--exit", *options],
        env=environment | {"TWOFOLD_HOME": str(home)} | variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=480,
        check=False,
    )


def _last_line(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert finished.returncode == 0, finished.stdout + finished.stderr
    outcome: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return outcome


def _working_in(folder: Path) -> list[str]:
    """The processes whose working folder lies in `folder`."""
    found = []
    for process in psutil.process_iter(["name", "cwd"]):
        if (process.info["cwd"] or "").startswith(str(folder)):
            found.append(process.info["name"])
    return found


@pytest.mark.timeout(600)
def test_two_engagements_go_from_audit_to_money_and_paper(tmp_path: Path) -> None:
    finished = demonstrate(tmp_path, "--preset", "tiny")
    first, second = _last_line(finished)["engagements"]
    assert not _working_in(tmp_path), "what it started has ended with it"

    stored = sorted((tmp_path / "demo" / "records").rglob("*.json"))
    measured = [records.load(path.read_bytes()) for path in stored]
    assert len(measured) == 2
    recomputed = {verdicts.recompute(record).ratio for record in measured}
    for engagement in (first, second):
        assert engagement["verdict"] in {"met", "missed", "inconclusive"}
        assert engagement["low"] <= engagement["ratio"] <= engagement["high"]
        assert engagement["ratio"] in recomputed, "the ratio is the one of a stored record"
        assert (engagement["settlement"] is None) == (engagement["verdict"] == "met")
        for document in engagement["documents"]:
            assert Path(document).read_bytes().startswith(b"%PDF-")
        kinds = " ".join(Path(document).name for document in engagement["documents"])
        for kind in ("audit-report", "contract", "accepted", "benchmark-report"):
            assert kind in kinds
        assert ("settlement" in kinds) == (engagement["settlement"] is not None)


def test_a_folder_that_no_demonstration_made_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "demo" / "ledger.csv"
    precious.parent.mkdir()
    precious.write_text("1,2,3")
    finished = demonstrate(tmp_path)
    assert finished.returncode != 0
    assert str(precious.parent) in finished.stderr
    assert precious.read_text() == "1,2,3"


def test_nothing_is_demonstrated_in_production(tmp_path: Path) -> None:
    finished = demonstrate(
        tmp_path,
        TWOFOLD_ENV="production",
        TWOFOLD_SECRET_KEY="kL9vQ2xW8rT5yU1pA7sD3fG6hJ0zXcVbNmQwErTyUiOp4ZkL9vQ2x",
        TWOFOLD_HOSTS="twofold.demo-house.eu",
        DATABASE_URL="postgresql://nobody:secret@127.0.0.1:1/none",
        BROKER_URL="redis://127.0.0.1:1/0",
        EMAIL_URL="smtp://127.0.0.1:1",
        TWOFOLD_FROM_EMAIL="twofold.demo-house.eu",
        TWOFOLD_HOUSE_NAME="Demo Kernel Consultancy",
        TWOFOLD_HOUSE_ADDRESS="Beispielweg 1",
        TWOFOLD_HOUSE_VAT_ID="DE123456789",
        TWOFOLD_HOUSE_IBAN="DE89370400440532013000",
    )
    assert finished.returncode != 0
    assert "TWOFOLD_ENV" in finished.stderr
