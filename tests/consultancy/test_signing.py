"""An install has a key of its own, for its owner and its measuring worker only."""

import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command

from benchmarks.harness.records import signatures
from benchmarks.models import SigningKey
from consultancy import celery, processes, signing


@pytest.fixture
def home(settings: Any, tmp_path: Path) -> Path:
    settings.TWOFOLD_HOME = tmp_path
    settings.TWOFOLD_SIGNING_KEY_IS_SET = False
    return tmp_path


@pytest.mark.django_db
def test_an_install_without_a_key_makes_one_and_keeps_it(home: Path) -> None:
    file = signing.have_one()
    assert file == home / "signing-key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert SigningKey.objects.get().key_id == signatures.read_key(file).public.id
    assert signing.have_one() == file
    assert SigningKey.objects.count() == 1


@pytest.mark.django_db
def test_a_new_database_is_told_of_the_old_key(home: Path) -> None:
    made = signatures.make_key(home / "signing-key")
    signing.have_one()
    assert SigningKey.objects.get().key_id == made.public.id


@pytest.mark.django_db
def test_a_named_key_is_used_and_none_is_made(settings: Any, home: Path) -> None:
    settings.TWOFOLD_SIGNING_KEY_IS_SET = True
    assert signing.have_one() is None
    assert list(home.iterdir()) == []


def test_the_key_goes_to_the_process_that_is_handed_it_alone(tmp_path: Path) -> None:
    key = tmp_path / "signing-key"
    assert processes.environment(tmp_path, signing_key=key)["TWOFOLD_SIGNING_KEY_FILE"] == str(key)
    assert str(key) not in processes.environment(tmp_path).values()


def test_a_production_worker_that_measures_refuses_to_start_without_a_key(
    settings: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signing.require_key()
    settings.PRODUCTION = True
    with pytest.raises(ImproperlyConfigured, match="TWOFOLD_SIGNING_KEY_FILE is not set"):
        signing.require_key()
    settings.TWOFOLD_SIGNING_KEY_IS_SET = True
    monkeypatch.setenv("TWOFOLD_SIGNING_KEY_FILE", str(home / "nothing"))
    with pytest.raises(ImproperlyConfigured, match="cannot read the signing key"):
        signing.require_key()
    signatures.make_key(home / "nothing")
    signing.require_key()


def test_only_workers_of_the_queue_gpu_are_asked_for_a_key() -> None:
    def worker_of(queue: str) -> SimpleNamespace:
        queues = SimpleNamespace(consume_from={queue: None})
        return SimpleNamespace(app=SimpleNamespace(amqp=SimpleNamespace(queues=queues)))

    with patch("consultancy.signing.require_key") as asked:
        celery.have_a_key_where_records_are_made(instance=worker_of("documents"))
        asked.assert_not_called()
        celery.have_a_key_where_records_are_made(instance=worker_of("gpu"))
        asked.assert_called_once_with()


@pytest.mark.django_db
def test_keys_are_made_added_listed_and_revoked_by_command(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("signing_key", "create", "--name", "this machine")
    made = SigningKey.objects.get()
    assert made.key_id in capsys.readouterr().out
    with pytest.raises(CommandError, match="File exists"):
        call_command("signing_key", "create")
    other = home / "other.pub"
    other.write_text(signatures.make_key(home / "other").public.pem())
    call_command("signing_key", "add", str(other), "--name", "gpu-1")
    call_command("signing_key", "revoke", made.key_id)
    capsys.readouterr()
    call_command("signing_key", "list")
    said = capsys.readouterr().out
    assert "gpu-1" in said
    assert f"{made.key_id}  this machine" in said
    assert "revoked" in said
    with pytest.raises(CommandError, match="There is no key"):
        call_command("signing_key", "revoke", "0" * 16)
