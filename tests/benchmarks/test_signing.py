"""A record is believed under a registered key that was not revoked, and under nothing else."""

import json
from pathlib import Path

import pytest

from benchmarks.errors import RecordRejected
from benchmarks.models import Record, Run, SigningKey
from benchmarks.records import records, signatures
from benchmarks.records.canonical import canonical
from benchmarks.services import keys, runs
from tests import referee_key
from tests.benchmarks.conftest import raises_code
from tests.database_constraints import violates


def _rejected(run: Run, content: bytes, code: str) -> None:
    with pytest.raises(RecordRejected) as rejected:
        runs.finish(run_id=run.pk, attempt=1, record_bytes=content)
    assert rejected.value.code == code
    run.refresh_from_db()
    assert (run.state, run.failure_reason) == ("failed", rejected.value.message)
    assert not Record.objects.exists()


def test_an_unsigned_record_is_refused(claimed: Run, record_bytes: bytes) -> None:
    unsigned = records.serialize(records.load(record_bytes), None)
    _rejected(claimed, unsigned, "record.unsigned")


def test_an_unknown_key_is_refused(claimed: Run, record_bytes: bytes, tmp_path: Path) -> None:
    stranger = signatures.make_key(tmp_path / "key")
    content = records.serialize(records.load(record_bytes), stranger)
    _rejected(claimed, content, "record.unknown_key")
    assert stranger.public.id in claimed.failure_reason


def test_a_revoked_key_is_refused(claimed: Run, record_bytes: bytes) -> None:
    keys.revoke(key_id=referee_key.KEY.public.id, by="the tests")
    _rejected(claimed, record_bytes, "record.revoked_key")


def test_a_retired_key_signs_no_further_record(claimed: Run, record_bytes: bytes) -> None:
    keys.retire(key_id=referee_key.KEY.public.id, by="the tests")
    _rejected(claimed, record_bytes, "record.retired_key")
    with raises_code("key.retired"):
        referee_key.register()


def test_a_bad_signature_is_refused(claimed: Run, record_bytes: bytes) -> None:
    changed = json.loads(record_bytes)
    changed["environment"]["cores"] += 1
    loaded = records.load(canonical(changed))
    changed["digest"] = records.digest_of(loaded)
    # The digest fits; only whoever holds the key could have signed it.
    _rejected(claimed, canonical(changed), "record.bad_signature")


def test_the_same_record_spelt_differently_is_refused(claimed: Run, record_bytes: bytes) -> None:
    _rejected(claimed, record_bytes + b"\n", "record.bad_signature")


def test_what_was_believed_before_its_key_was_revoked_stays(
    claimed: Run, record_bytes: bytes
) -> None:
    record = runs.finish(run_id=claimed.pk, attempt=1, record_bytes=record_bytes)
    key = keys.revoke(key_id=referee_key.KEY.public.id, by="the tests")
    record.refresh_from_db()
    assert record.signed_by == key
    assert keys.revoke(key_id=key.key_id, by="another").revoked_at == key.revoked_at


@pytest.mark.django_db
def test_a_key_is_registered_once_and_never_again_when_revoked() -> None:
    row = referee_key.register()
    assert referee_key.register() == row
    assert SigningKey.objects.count() == 1
    keys.revoke(key_id=row.key_id, by="the tests")
    with raises_code("key.revoked"):
        referee_key.register()


@pytest.mark.django_db
def test_invalid_and_unknown_keys_are_rejected() -> None:
    with raises_code("key.unknown"):
        keys.revoke(key_id="0" * 16, by="the tests")
    with raises_code("key.invalid"):
        keys.add(public_key="nonsense", name="A machine", by="the tests")
    for name in (" ", "A\0machine", "A\nmachine"):
        with raises_code("key.name"):
            keys.add(public_key=referee_key.KEY.public.pem(), name=name, by="the tests")


@pytest.mark.django_db
def test_the_database_keeps_keys_as_they_are() -> None:
    row = referee_key.register()
    rows = SigningKey.objects.filter(pk=row.pk)
    for change in ({"public_key": "another"}, {"name": "another"}):
        with violates("signingkey.identity"):
            rows.update(**change)
    with violates("signingkey.deletion"):
        rows.delete()
    keys.revoke(key_id=row.key_id, by="the tests")
    with violates("signingkey.revocation"):
        rows.update(revoked_at=None)
