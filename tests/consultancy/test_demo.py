"""The demonstration runs the main workflow with real processes, and leaves real data alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import connection

from benchmarks.records import records
from benchmarks.verdict import verdicts
from tests.conftest import database_url
from tests.consultancy.settings_loader import ROOT

# The engagement without evidence files, whose audit is entered by hand.
OPERATOR = "windowed_skip_attention"


def demonstrate(home: Path, *options: str, **variables: str) -> list[dict[str, Any]]:
    """Run `manage.py demo` in this home; the outcome of each engagement."""
    environment = {name: value for name, value in os.environ.items() if name != "BROKER_URL"}
    finished = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "demo", "--exit", *options],
        env=environment | {"TWOFOLD_HOME": str(home)} | variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    engagements: list[dict[str, Any]] = json.loads(finished.stdout.splitlines()[-1])["engagements"]
    assert not processes_in(home)
    for engagement in engagements:
        check(engagement, home=home)
    return engagements


def processes_in(folder: Path) -> list[str]:
    """The processes whose working directory is in `folder`."""
    return [
        process.info["name"]
        for process in psutil.process_iter(["name", "cwd"])
        if (process.info["cwd"] or "").startswith(str(folder))
    ]


def check(engagement: dict[str, Any], *, home: Path) -> None:
    """The verdict is that of a stored record, and every document was issued."""
    stored = (home / "demo" / "records").rglob("*.json")
    ratios = {verdicts.recompute(records.load(path.read_bytes())).ratio for path in stored}
    assert engagement["ratio"] in ratios
    assert engagement["low"] <= engagement["ratio"] <= engagement["high"]
    assert engagement["verdict"] in {"met", "missed", "inconclusive"}
    assert engagement["settlement"] is None or engagement["verdict"] != "met"
    documents = [Path(document) for document in engagement["documents"]]
    assert all(document.read_bytes().startswith(b"%PDF-") for document in documents)
    names = " ".join(document.name for document in documents)
    for kind in ("audit-report", "contract", "accepted", "INV-", "benchmark-report"):
        assert kind in names
    assert ("settlement" in names) == (engagement["settlement"] is not None)


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.django_db(transaction=True)
def test_an_engagement_runs_from_audit_to_money_and_documents(tmp_path: Path) -> None:
    # On the tests' migrated database; the whole demonstration creates its own.
    own = {
        "TWOFOLD_DEMO": "1",
        "TWOFOLD_HOME": str(tmp_path / "demo"),
        "DATABASE_URL": database_url(connection.settings_dict),
    }
    (tmp_path / "demo").mkdir()
    options = ("--preset", "tiny", "--operator", OPERATOR)
    assert len(demonstrate(tmp_path, *options, **own)) == 1


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_the_whole_demonstration_runs(tmp_path: Path) -> None:
    first, second = demonstrate(tmp_path)
    # An attempt that missed, followed by one of the catalogue's candidate.
    reports = ["benchmark-report" in document for document in first["documents"]]
    assert (sum(reports), first["settlement"]) == (2, None)
    assert second["settlement"] is not None


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path, settings: LazySettings) -> None:
    settings.TWOFOLD_HOME = tmp_path
    precious = tmp_path / "demo" / "ledger.csv"
    precious.parent.mkdir()
    precious.write_text("1,2,3")
    with pytest.raises(CommandError, match=str(precious.parent)):
        call_command("demo", "--exit")
    assert precious.read_text() == "1,2,3"


def test_the_demonstration_does_not_run_in_production(settings: LazySettings) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match="TWOFOLD_ENV"):
        call_command("demo", "--exit")
