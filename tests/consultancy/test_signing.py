"""Each installation has a signing key, for its owner and its gpu worker only."""

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from benchmarks.models import SigningKey
from benchmarks.records import signatures
from consultancy import celery, processes, signing


@pytest.fixture
def home(settings: Any, tmp_path: Path) -> Path:
    settings.TWOFOLD_HOME = tmp_path
    settings.TWOFOLD_SIGNING_KEY_IS_SET = False
    return tmp_path


@pytest.mark.django_db
def test_an_installation_without_a_key_creates_one_and_keeps_it(home: Path) -> None:
    file = signing.ensure_key()
    assert file == home / "signing-key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert SigningKey.objects.get().key_id == signatures.read_key(file).public.id
    assert signing.ensure_key() == file
    assert SigningKey.objects.count() == 1


@pytest.mark.django_db
def test_a_new_database_learns_the_existing_key(home: Path) -> None:
    made = signatures.make_key(home / "signing-key")
    signing.ensure_key()
    assert SigningKey.objects.get().key_id == made.public.id


@pytest.mark.django_db
def test_with_a_configured_key_none_is_created(settings: Any, home: Path) -> None:
    settings.TWOFOLD_SIGNING_KEY_IS_SET = True
    assert signing.ensure_key() is None
    assert list(home.iterdir()) == []


def test_only_the_gpu_worker_gets_the_key(tmp_path: Path) -> None:
    key = tmp_path / "signing-key"
    assert processes.environment(tmp_path, signing_key=key)["TWOFOLD_SIGNING_KEY_FILE"] == str(key)
    assert str(key) not in processes.environment(tmp_path).values()


def test_a_gpu_worker_in_production_does_not_start_without_a_key(
    settings: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signing.require_key()
    settings.PRODUCTION = True
    with pytest.raises(ImproperlyConfigured, match="TWOFOLD_SIGNING_KEY_FILE"):
        signing.require_key()
    settings.TWOFOLD_SIGNING_KEY_IS_SET = True
    monkeypatch.setenv("TWOFOLD_SIGNING_KEY_FILE", str(home / "nothing"))
    with pytest.raises(ImproperlyConfigured, match="nothing"):
        signing.require_key()
    signatures.make_key(home / "nothing")
    signing.require_key()


def test_only_gpu_workers_require_a_key() -> None:
    def worker_of(queue: str) -> SimpleNamespace:
        queues = SimpleNamespace(consume_from={queue: None})
        return SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues)))

    with patch("consultancy.signing.require_key") as required:
        celery.require_signing_key(instance=worker_of("documents"))
        required.assert_not_called()
        celery.require_signing_key(instance=worker_of("gpu"))
        required.assert_called_once_with()


@pytest.mark.django_db
def test_keys_are_created_added_listed_and_revoked_by_command(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("signing_key", "create", "--name", "this machine")
    made = SigningKey.objects.get()
    assert made.key_id in capsys.readouterr().out
    with pytest.raises(CommandError, match=str(home)):
        call_command("signing_key", "create")
    other = home / "other.pub"
    other.write_text(signatures.make_key(home / "other").public.pem())
    call_command("signing_key", "add", str(other), "--name", "gpu-1")
    call_command("signing_key", "revoke", made.key_id)
    capsys.readouterr()
    call_command("signing_key", "list")
    listed = capsys.readouterr().out
    assert "gpu-1" in listed
    assert f"{made.key_id}  this machine" in listed
    assert "revoked" in listed
    with pytest.raises(CommandError, match="0" * 16):
        call_command("signing_key", "revoke", "0" * 16)
