"""Load the settings with exactly the given variables."""

import os
import runpy
import secrets
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[2]


def production(**changes: str | None) -> dict[str, str]:
    """Variables that production starts with, and the test's `changes` (None: unset)."""
    variables: dict[str, str | None] = {
        "TWOFOLD_ENV": "production",
        "TWOFOLD_SECRET_KEY": secrets.token_urlsafe(50),
        "TWOFOLD_HOSTS": "twofold.example.org",
        "DATABASE_URL": "postgresql://twofold:x@db.example.org:5432/twofold",
        "BROKER_URL": "redis://broker.example.org:6379/0",
        "EMAIL_URL": "smtp+tls://user:x@mail.example.org:587",
        "TWOFOLD_FROM_EMAIL": "twofold@example.org",
        "TWOFOLD_COMPANY_NAME": "Kernels Ltd",
        "TWOFOLD_COMPANY_ADDRESS": "1 Warp Street",
        "TWOFOLD_COMPANY_VAT_ID": "DE136695976",
        "TWOFOLD_COMPANY_IBAN": "DE89370400440532013000",
        **changes,
    }
    return {name: value for name, value in variables.items() if value is not None}


def start(variables: dict[str, str]) -> dict[str, Any]:
    """The settings of a process with these variables; raises what loading them raises."""
    with mock.patch.dict(os.environ, variables, clear=True):
        return runpy.run_path(str(ROOT / "consultancy" / "settings.py"))
