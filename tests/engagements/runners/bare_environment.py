"""A Python environment with the referee's packages and without the site's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

SITE_PACKAGES: Final = ("django", "celery", "kombu", "redis", "psycopg", "rest_framework", "valkey")
ROOT: Final = Path(__file__).resolve().parents[3]


def python_of(folder: Path, *, measures: bool = False) -> Path:
    """Make the environment in `folder` and return its interpreter.

    The packages of this environment are linked, except those of the site. One that `measures` has
    hard links, because the confined sides of a run do not see what other links lead to.
    """
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    for each in Path(sysconfig.get_paths()["purelib"]).iterdir():
        name, made = each.name.lower(), packages / each.name
        if name.startswith(SITE_PACKAGES) or name.endswith(".pth"):
            continue
        if not measures:
            made.symlink_to(each)
        elif each.is_dir():
            shutil.copytree(each, made, copy_function=_link, symlinks=True)
        else:
            _link(str(each), str(made))
    (packages / "twofold.pth").write_text(f"{ROOT}\n")
    return folder / "bin" / "python"


def _link(source: str, made: str) -> None:
    try:
        os.link(source, made)
    except OSError:
        # Another file system.
        shutil.copy2(source, made)
