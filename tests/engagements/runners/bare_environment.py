"""A Python environment with the referee's packages and without the site's."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

SITE_PACKAGES: Final = ("django", "celery", "kombu", "redis", "psycopg", "rest_framework", "valkey")
ROOT: Final = Path(__file__).resolve().parents[3]


def python_of(folder: Path) -> Path:
    """Make the environment in `folder` and return its interpreter.

    The packages of this environment are linked, except those of the site.
    """
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    for each in Path(sysconfig.get_paths()["purelib"]).iterdir():
        name = each.name.lower()
        if not name.startswith(SITE_PACKAGES) and not name.endswith(".pth"):
            (packages / each.name).symlink_to(each)
    (packages / "twofold.pth").write_text(f"{ROOT}\n")
    return folder / "bin" / "python"
