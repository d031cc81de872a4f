"""A signed list of public keys: only its own key adds lines, and none of them changes."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.harness.__main__ import main
from benchmarks.records import key_lists, records, signatures
from benchmarks.records.key_lists import KeyListError
from benchmarks.records.signatures import SigningKey
from tests.harness.samples import twice_as_fast

AT = datetime(2026, 11, 25, 9, tzinfo=UTC)


def _key() -> SigningKey:
    return SigningKey(Ed25519PrivateKey.generate())


def _with(content: bytes, signer: SigningKey, key: SigningKey, action: str = "add") -> bytes:
    return key_lists.appended(
        content, action=action, key=key.public, note="the customer", at=AT, signer=signer
    )


def test_a_revoked_key_stays_listed_as_such() -> None:
    own, mine, other = _key(), _key(), _key()
    content = _with(_with(_with(b"", own, mine), own, other), own, mine, "revoke")
    listed = key_lists.read(content, own.public)
    assert listed[mine.public.id].revoked_at == AT.isoformat(timespec="seconds")
    assert listed[other.public.id].revoked_at is None
    assert listed[other.public.id].key == other.public


def test_lines_are_neither_changed_nor_removed_nor_added_by_others() -> None:
    own, stranger = _key(), _key()
    content = _with(_with(b"", own, _key()), own, _key())
    first, second = content.splitlines(keepends=True)
    spoilt = [second, second + first, content.replace(b"customer", b"supplier")]
    for each in spoilt:
        with pytest.raises(KeyListError):
            key_lists.read(each, own.public)
    with pytest.raises(KeyListError):
        _with(content, stranger, _key())


def test_a_key_is_added_once_and_revoked_once() -> None:
    own, mine = _key(), _key()
    content = _with(b"", own, mine)
    for action, before in (("add", content), ("revoke", b"")):
        with pytest.raises(KeyListError):
            _with(before, own, mine, action)
    revoked = _with(content, own, mine, "revoke")
    for action in ("add", "revoke"):
        with pytest.raises(KeyListError):
            _with(revoked, own, mine, action)


def test_the_commands_keep_a_list_and_verify_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = signatures.make_key(tmp_path / "own.key")
    referee = _key()
    (tmp_path / "own.pub").write_text(own.public.pem())
    (tmp_path / "referee.pub").write_text(base64.b64encode(referee.public.raw).decode())
    record = tmp_path / "r.json"
    record.write_bytes(records.serialize(twice_as_fast(), referee))
    known, by = str(tmp_path / "keys"), ["--public-key", str(tmp_path / "own.pub")]

    def keep(action: str) -> int:
        monkeypatch.setenv(signatures.KEY_FILE_VARIABLE, str(tmp_path / "own.key"))
        return main(["keys", action, known, str(tmp_path / "referee.pub"), "--note", "the lab"])

    verify = ["verify", str(record), "--keys", known, *by]
    assert keep("add") == 0
    assert main(verify) == 0
    assert keep("revoke") == 0
    assert main(verify) == 3
    assert keep("add") == 2
    capsys.readouterr()
    assert main(["keys", "show", known, *by]) == 0
    assert f"key {referee.public.id} of the lab, revoked" in capsys.readouterr().out
