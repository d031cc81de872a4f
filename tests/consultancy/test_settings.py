"""Production refuses to start half configured, and says what to do."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from consultancy import processes
from tests.consultancy.starting import ROOT, production, start


def test_production_starts_with_everything_given() -> None:
    settings = start(production())
    assert settings["DEBUG"] is False
    assert settings["SESSION_COOKIE_SECURE"] is True
    assert settings["SECURE_HSTS_SECONDS"] > 0
    assert settings["ALLOWED_HOSTS"] == ["twofold.example.org"]
    assert settings["SITE_ADDRESS"] == "https://twofold.example.org"
    # Where attempts to sign in are counted, by all processes together.
    assert settings["CACHES"]["default"]["BACKEND"] == "consultancy.shared_cache.SharedCache"


def test_links_in_mails_lead_to_where_the_site_is_served(tmp_path: Path) -> None:
    variables = processes.environment(tmp_path, port=8123)
    assert variables["TWOFOLD_PORT"] == "8123"
    home = {"TWOFOLD_HOME": str(tmp_path / "home")}
    passed_on = {"TWOFOLD_PORT": variables["TWOFOLD_PORT"]}
    assert start(home | passed_on)["SITE_ADDRESS"] == "http://localhost:8123"
    assert start(home)["SITE_ADDRESS"] == "http://localhost:8000"
    assert start(production() | passed_on)["SITE_ADDRESS"] == "https://twofold.example.org"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"TWOFOLD_SECRET_KEY": None}, "TWOFOLD_SECRET_KEY is not set"),
        ({"TWOFOLD_SECRET_KEY": ""}, "TWOFOLD_SECRET_KEY is not set"),
        ({"TWOFOLD_SECRET_KEY": None}, r"secrets\.token_urlsafe\(50\)"),
        ({"TWOFOLD_SECRET_KEY": "short"}, "too weak"),
        ({"TWOFOLD_SECRET_KEY": "ab" * 40}, "too weak"),
        ({"TWOFOLD_SECRET_KEY": "django-insecure-" + "a1b2c3d4e5f6g7" * 4}, "like an example"),
        ({"TWOFOLD_DEBUG": "1"}, "TWOFOLD_DEBUG is on in production"),
        ({"TWOFOLD_FAULT": "issue_invoice.numbered"}, "TWOFOLD_FAULT is set in production"),
        ({"TWOFOLD_HOSTS": None}, "TWOFOLD_HOSTS is not set"),
        ({"TWOFOLD_HOSTS": "*"}, "wildcard"),
        ({"TWOFOLD_HOSTS": "twofold.example.org,*.example.org"}, "wildcard"),
        ({"TWOFOLD_HOSTS": ".example.org"}, "wildcard"),
        ({"DATABASE_URL": None}, "DATABASE_URL is not set"),
        ({"DATABASE_URL": "sqlite:///db.sqlite3"}, "must be a PostgreSQL URL"),
        ({"BROKER_URL": None}, "BROKER_URL is not set"),
        ({"EMAIL_URL": None}, "EMAIL_URL is not set"),
        ({"TWOFOLD_RECORDS_BUCKET": "records"}, "TWOFOLD_RECORDS_ACCESS_KEY is not set"),
        ({"TWOFOLD_ENV": "prod"}, "must be development or production"),
        ({"TWOFOLD_DEBUG": "maybe"}, "must be 1 or 0"),
    ],
)
def test_production_refuses(changes: dict[str, str | None], said: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=said):
        start(production(**changes))


def test_a_refusal_is_the_last_line_that_an_operator_sees() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **production(TWOFOLD_SECRET_KEY="short")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "TWOFOLD_SECRET_KEY is too weak" in done.stderr.splitlines()[-1]


def test_a_checkout_makes_its_own_secret_once_and_keeps_it_to_itself(tmp_path: Path) -> None:
    variables = {"TWOFOLD_HOME": str(tmp_path / "home")}
    first = start(variables)["SECRET_KEY"]
    assert len(first) >= 50
    assert start(variables)["SECRET_KEY"] == first
    assert stat.S_IMODE((tmp_path / "home" / "secret").stat().st_mode) == 0o600


def test_reading_the_settings_starts_no_server(tmp_path: Path) -> None:
    start({"TWOFOLD_HOME": str(tmp_path / "home")})
    assert [file.name for file in (tmp_path / "home").iterdir()] == ["secret"]


def test_a_database_url_is_read_as_psql_reads_it() -> None:
    url = "postgresql://me:p%40ss@%2Frun%2FPG/name?sslmode=require"
    database = start(production(DATABASE_URL=url))["DATABASES"]["default"]
    assert database["HOST"] == "/run/PG"
    assert database["PASSWORD"] == "p@ss"
    assert database["NAME"] == "name"
    assert database["OPTIONS"] == {"sslmode": "require"}
