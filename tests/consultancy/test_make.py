"""make lists its commands, and its scripts can be run."""

import os
import subprocess

from tests.consultancy.starting import ROOT


def test_make_alone_lists_every_command() -> None:
    said = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for command in ("demo", "test", "lint", "install", "up", "help", "lock"):
        assert f"make {command} " in said


def test_every_script_can_be_run() -> None:
    for script in ("run", "lint", "install", "lock"):
        file = ROOT / ".ci" / script
        assert os.access(file, os.X_OK)
        subprocess.run(["bash", "-n", str(file)], check=True)
