"""docker-compose.yml sets the variables that the settings read."""

import re
from typing import Any

import pytest
import yaml
from django.core.exceptions import ImproperlyConfigured

from tests.consultancy.settings_loader import ROOT, production, start

OURS = ("web", "migrate", "worker", "beat", "gpu-worker")
REFERENCE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[?-])(?P<rest>[^}]*))?\}")


def _compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return document


def _filled(service: str) -> dict[str, str]:
    """The service's variables as compose sets them, each secret with a value."""

    def fill(match: re.Match[str]) -> str:
        if match["kind"] == "-":
            return match["rest"]
        given = {
            "EMAIL_URL": "consolemail://",
            "TWOFOLD_SECRET_KEY": "kD8-w2xZ_q7Yr5Vb3Nf1Hs9Tj4Mg6Lp0Xc-Ea_Ui8Oy2Bz5Qd7Rk",
        }
        return given.get(match["name"], "a1b2c3")

    variables = _compose()["services"][service]["environment"]
    return {name: REFERENCE.sub(fill, str(text)) for name, text in variables.items()}


@pytest.mark.parametrize("service", OURS)
def test_the_settings_load_with_the_variables_of_compose(service: str) -> None:
    settings = start(_filled(service))
    assert settings["STORAGES"]["records"]["BACKEND"] == "consultancy.bucket.Bucket"
    # A misspelt variable would not be read.
    assert set(_filled(service)) <= settings["env"].names


def test_every_variable_that_production_requires_is_set_by_compose() -> None:
    required = set()
    for name in start(production())["env"].names:
        try:
            start(production(**{name: None}))
        except ImproperlyConfigured:
            required.add(name)
    assert len(required) >= 8
    for service in OURS:
        assert required <= set(_filled(service))


def test_no_secret_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    secrets = [match for match in REFERENCE.finditer(text) if _is_secret(match["name"])]
    assert len(secrets) >= 8
    with_default = [match for match in secrets if match["kind"] != "?"]
    assert [match.group() for match in with_default] == [
        # Empty without an OIDC provider.
        "${TWOFOLD_OIDC_CLIENT_SECRET:-}"
    ]


def test_every_required_variable_is_in_the_example() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    asked = {match["name"] for match in REFERENCE.finditer(text) if match["kind"] == "?"}
    example = (ROOT / ".env.example").read_text()
    assert asked == set(re.findall(r"^(\w+)=$", example, re.MULTILINE))


def test_every_long_running_service_has_a_health_check() -> None:
    image_checks = {"web"}  # checked in the Dockerfile
    for name, service in _compose()["services"].items():
        if name != "migrate" and name not in image_checks:
            assert "test" in service["healthcheck"], name


def test_every_volume_is_named() -> None:
    document = _compose()
    used = {
        volume.split(":")[0]
        for service in document["services"].values()
        for volume in service.get("volumes", [])
    }
    assert used == set(document["volumes"])


def test_the_operations_guide_explains_every_variable() -> None:
    read = start(_filled("web"))["env"].names
    guide = (ROOT / "consultancy" / "README.md").read_text()
    explained = set(re.findall(r"^\| `(\w+)`", guide, re.MULTILINE))
    assert read == explained


def _is_secret(name: str) -> bool:
    return any(part in name for part in ("SECRET", "PASSWORD", "ACCESS_KEY", "EMAIL_URL"))
