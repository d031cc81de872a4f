"""Production refuses to start without a complete and safe configuration."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from consultancy import processes
from consultancy.environment import SECRETS
from tests.consultancy.settings_loader import ROOT, production, start


def test_production_starts_with_everything_given() -> None:
    settings = start(production())
    assert settings["DEBUG"] is False
    assert settings["SESSION_COOKIE_SECURE"] is True
    assert settings["ALLOWED_HOSTS"] == ["twofold.example.org"]
    assert settings["SITE_ADDRESS"] == "https://twofold.example.org"
    # Rate limits are shared by all processes.
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
    ("name", "value"),
    [
        ("TWOFOLD_SECRET_KEY", None),
        ("TWOFOLD_SECRET_KEY", ""),
        ("TWOFOLD_SECRET_KEY", "short"),
        ("TWOFOLD_SECRET_KEY", "ab" * 40),
        ("TWOFOLD_SECRET_KEY", "django-insecure-" + "a1b2c3d4e5f6g7" * 4),
        ("TWOFOLD_DEBUG", "1"),
        ("TWOFOLD_DEBUG", "maybe"),
        ("TWOFOLD_HOSTS", None),
        ("TWOFOLD_HOSTS", "*"),
        ("TWOFOLD_HOSTS", "twofold.example.org,*.example.org"),
        ("TWOFOLD_HOSTS", ".example.org"),
        ("TWOFOLD_HSTS_SECONDS", "a year"),
        ("TWOFOLD_HSTS_PRELOAD", "1"),
        ("DATABASE_URL", None),
        ("DATABASE_URL", "sqlite:///db.sqlite3"),
        ("BROKER_URL", None),
        ("EMAIL_URL", None),
        ("TWOFOLD_ENV", "prod"),
    ],
)
def test_production_rejects_a_missing_or_unsafe_variable_by_name(
    name: str, value: str | None
) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"^{name} "):
        start(production(**{name: value}))


def test_secrets_are_read_from_files(tmp_path: Path) -> None:
    given = production()
    by_file = {}
    for name in sorted(SECRETS & given.keys()):
        (tmp_path / name).write_text(f"{given.pop(name)}\n")
        by_file[f"{name}_FILE"] = str(tmp_path / name)
    settings = start(given | by_file)
    assert settings["SECRET_KEY"] == (tmp_path / "TWOFOLD_SECRET_KEY").read_text().strip()
    assert settings["DATABASES"]["default"]["HOST"] == "db.example.org"
    assert settings["EMAIL_HOST"] == "mail.example.org"
    (tmp_path / "BROKER_URL").unlink()
    with pytest.raises(ImproperlyConfigured, match=r"^BROKER_URL_FILE "):
        start(given | by_file)


def test_a_bucket_needs_its_keys() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^TWOFOLD_RECORDS_ACCESS_KEY "):
        start(production(TWOFOLD_RECORDS_BUCKET="records"))


def test_hsts_binds_this_host_alone_unless_the_operator_opts_in() -> None:
    names = ("SECURE_HSTS_SECONDS", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD")
    year = 365 * 24 * 3600
    chosen = production(
        TWOFOLD_HSTS_SECONDS=str(year), TWOFOLD_HSTS_SUBDOMAINS="1", TWOFOLD_HSTS_PRELOAD="1"
    )

    def hsts(variables: dict[str, str]) -> list[Any]:
        settings = start(variables)
        return [settings[name] for name in names]

    assert hsts(production()) == [30 * 24 * 3600, False, False]
    assert hsts(chosen) == [year, True, True]
    assert hsts({"TWOFOLD_HSTS_SECONDS": str(year)})[0] == 0


def test_the_reason_is_the_last_line_of_output() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **production(TWOFOLD_SECRET_KEY="short")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "TWOFOLD_SECRET_KEY" in done.stderr.splitlines()[-1]


def test_a_checkout_generates_a_secret_once_readable_by_its_owner_only(tmp_path: Path) -> None:
    variables = {"TWOFOLD_HOME": str(tmp_path / "home")}
    first = start(variables)["SECRET_KEY"]
    assert len(first) >= 50
    assert start(variables)["SECRET_KEY"] == first
    assert stat.S_IMODE((tmp_path / "home" / "secret").stat().st_mode) == 0o600


def test_loading_the_settings_starts_no_server(tmp_path: Path) -> None:
    start({"TWOFOLD_HOME": str(tmp_path / "home")})
    assert [file.name for file in (tmp_path / "home").iterdir()] == ["secret"]


def test_a_database_url_is_parsed_as_psql_does() -> None:
    url = "postgresql://me:p%40ss@%2Frun%2FPG/name?sslmode=require"
    database = start(production(DATABASE_URL=url))["DATABASES"]["default"]
    assert database["HOST"] == "/run/PG"
    assert database["PASSWORD"] == "p@ss"
    assert database["NAME"] == "name"
    assert database["OPTIONS"] == {"sslmode": "require"}
