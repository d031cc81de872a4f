"""Who signed a record, and that nothing in it was changed since."""

from __future__ import annotations

import base64
import json
import stat
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from benchmarks.harness.__main__ import main
from benchmarks.records import records, redaction, signatures
from benchmarks.records.canonical import canonical
from benchmarks.records.signatures import KeyUnusable, NotSigned, SignatureError, SigningKey
from tests.harness.samples import made_record, replicate_entry, twice_as_fast, workload_entry


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return signatures.make_key(tmp_path / "key")


@pytest.fixture
def public_file(key: SigningKey, tmp_path: Path) -> Path:
    path = tmp_path / "key.pub"
    path.write_text(key.public.pem())
    return path


def _holds(content: bytes, key: SigningKey) -> bool:
    try:
        records.load(content)
        signatures.check(content, key.public)
    except ValueError:
        return False
    return True


def _verify(content: bytes, folder: Path, *options: str | Path) -> int:
    path = folder / "record.json"
    path.write_bytes(content)
    return main(["verify", str(path), *map(str, options)])


def test_a_signed_record_holds_under_its_key(
    key: SigningKey, public_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = records.serialize(twice_as_fast(), key)
    assert _verify(content, tmp_path, "--public-key", public_file) == 0
    assert f"signed by key {key.public.id}" in capsys.readouterr().out
    assert _verify(content, tmp_path) == 0
    assert "--public-key" in capsys.readouterr().out


def test_a_changed_byte_fails(key: SigningKey) -> None:
    content = records.serialize(twice_as_fast(), key)
    start = content.index(b'"signature":')
    body = [*range(0, start, 41), *range(start, len(content), 5)]
    for index in body:
        changed = bytearray(content)
        changed[index] ^= 1
        assert not _holds(bytes(changed), key)
    with pytest.raises(SignatureError, match="was changed"):
        signatures.check(content + b"\n", key.public)


def test_a_record_without_its_source_still_holds(
    key: SigningKey, public_file: Path, tmp_path: Path
) -> None:
    content = records.serialize(twice_as_fast(), key)
    without = redaction.withhold_source(content)
    assert twice_as_fast()["candidate"]["source"].strip().encode() not in without
    assert records.load(without)["candidate"]["source"] is None
    assert _verify(without, tmp_path, "--public-key", public_file) == 0
    other = json.loads(content)
    other["candidate"]["source"] = "pass"
    with pytest.raises(SignatureError, match="was changed"):
        signatures.check(canonical(other), key.public)
    assert _verify(canonical(other), tmp_path) == 1


def test_a_change_sealed_again_fails_the_signature_alone(
    key: SigningKey, public_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    signed = json.loads(records.serialize(twice_as_fast(), key))
    better = made_record([replicate_entry(workload_entry("wide", [(400.0, 100.0)] * 3))])
    forged = json.loads(records.serialize(better, None)) | {"signature": signed["signature"]}
    assert _verify(canonical(forged), tmp_path, "--public-key", public_file) == 1
    assert capsys.readouterr().err == "signature: the record was changed after it was signed\n"


def test_an_unsigned_record_fails_verification_with_a_key(
    public_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = records.serialize(twice_as_fast(), None)
    assert _verify(content, tmp_path) == 0
    assert capsys.readouterr().out.endswith("unsigned\n")
    assert _verify(content, tmp_path, "--public-key", public_file) == 3
    assert capsys.readouterr().err == "not signed\n"


def test_another_key_vouches_for_nothing(
    key: SigningKey, public_file: Path, tmp_path: Path
) -> None:
    content = records.serialize(twice_as_fast(), signatures.make_key(tmp_path / "other"))
    assert _verify(content, tmp_path, "--public-key", public_file) == 3
    claimed = json.loads(content)
    claimed["signature"]["key_id"] = key.public.id
    assert _verify(canonical(claimed), tmp_path, "--public-key", public_file) == 1
    with pytest.raises(NotSigned):
        signatures.check(content, key.public)


def test_a_key_is_made_once_for_its_owner_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "made"
    assert main(["keygen", str(path)]) == 0
    said = capsys.readouterr().out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    made = signatures.read_key(path)
    assert said == f"key {made.public.id}\n{made.public.pem()}"
    # What it prints can be kept as it is.
    assert signatures.public_key(said.encode()) == made.public
    before = path.read_bytes()
    assert main(["keygen", str(path)]) == 2
    assert path.read_bytes() == before
    assert f"{path}: File exists" in capsys.readouterr().err


def test_the_key_is_taken_out_of_the_environment(key: SigningKey, tmp_path: Path) -> None:
    seed = base64.b64encode(key._key.private_bytes_raw()).decode()
    for name, value in [
        (signatures.KEY_FILE_VARIABLE, str(tmp_path / "key")),
        (signatures.KEY_VARIABLE, seed),
        (signatures.KEY_VARIABLE, (tmp_path / "key").read_text()),
    ]:
        environment = {name: value, "PATH": "/bin"}
        taken = signatures.take_key(environment)
        assert taken is not None
        assert taken.public == key.public
        assert environment == {"PATH": "/bin"}
    assert signatures.take_key({"PATH": "/bin"}) is None
    assert seed not in repr(key)


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ({"TWOFOLD_SIGNING_KEY_FILE": "/nowhere/key"}, "/nowhere/key"),
        ({"TWOFOLD_SIGNING_KEY": "c2hvcnQ="}, "32 bytes"),
        ({"TWOFOLD_SIGNING_KEY": "§"}, "32 bytes"),
        # Beginnings without an end: each would be searched to the end of the file.
        ({"TWOFOLD_SIGNING_KEY": "-----BEGIN A-----\n" * 20_000}, "10,000 bytes"),
        ({"TWOFOLD_SIGNING_KEY": "a", "TWOFOLD_SIGNING_KEY_FILE": "b"}, "TWOFOLD_SIGNING_KEY_FILE"),
    ],
)
def test_a_key_that_cannot_be_used_is_said_without_showing_it(
    environment: dict[str, str], complaint: str
) -> None:
    with pytest.raises(KeyUnusable, match=complaint) as raised:
        signatures.take_key(environment)
    assert "c2hvcnQ=" not in str(raised.value)


def test_a_long_run_stays_under_two_megabytes(key: SigningKey) -> None:
    drawn = Random(1)

    def replicate() -> dict[str, Any]:
        rounds = {
            name: [(drawn.gauss(2e3, 9), drawn.gauss(1e3, 9)) for _ in range(100)]
            for name in ("wide", "odd", "long", "short")
        }
        return replicate_entry(*(workload_entry(name, drawn) for name, drawn in rounds.items()))

    record = {**twice_as_fast(), "replicates": [replicate() for _ in range(20)]}
    content = records.serialize(record, key)
    assert len(content) < 500_000
    assert len(canonical(record)) > 2 * len(content)
    assert records.load(content)["replicates"] == record["replicates"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("!", r"\$\.replicates"),
        (base64.b64encode(b"nothing of the kind").decode(), r"\$\.replicates"),
        ("", r"\$\.replicates"),
    ],
)
def test_damaged_samples_are_refused(content: str, complaint: str) -> None:
    record = json.loads(records.serialize(twice_as_fast(), None))
    record["replicates"]["content"] = content
    with pytest.raises(records.RecordError, match=complaint):
        records.load(canonical(record))


def test_samples_that_swell_beyond_reason_are_refused() -> None:
    record = json.loads(records.serialize(twice_as_fast(), None))
    bomb = zlib.compress(b" " * 9_000_000, 9)
    record["replicates"]["content"] = base64.b64encode(bomb).decode()
    with pytest.raises(records.RecordError, match=r"\$\.replicates"):
        records.load(canonical(record))


def test_the_published_schemas_accept_what_is_written_and_are_schemas(
    capsys: pytest.CaptureFixture[str], key: SigningKey
) -> None:
    published = {}
    for name in ("record", "benchmark"):
        assert main(["schema", name]) == 0
        published[name] = json.loads(capsys.readouterr().out)
        Draft202012Validator.check_schema(published[name])
        assert "/1)" in published[name]["title"]
    record = twice_as_fast()
    Draft202012Validator(published["record"]).validate(json.loads(records.serialize(record, key)))
    Draft202012Validator(published["record"]).validate(json.loads(canonical(record)))
    Draft202012Validator(published["benchmark"]).validate(record["benchmark"])
    broken = {**record, "summary": {}}
    assert not Draft202012Validator(published["record"]).is_valid(broken)


def test_others_sign_the_same_record_and_none_voids_the_others(
    key: SigningKey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, file = records.serialize(twice_as_fast(), key), tmp_path / "record.json"
    file.write_bytes(content)
    others = {role: signatures.make_key(tmp_path / role) for role in ("customer", "third_party")}
    for role in others:
        monkeypatch.setenv(signatures.KEY_FILE_VARIABLE, str(tmp_path / role))
        assert main(["sign", str(file), "--as", role]) == 0
    signed = file.read_bytes()
    record = records.load(signed)
    assert record["digest"] == records.load(content)["digest"]
    assert [each["role"] for each in record["countersignatures"]] == list(others)
    for each in (key, *others.values()):
        assert _holds(signed, each)
        assert _holds(redaction.withhold_source(signed), each)
        assert not _holds(signed.replace(b'"elapsed_s":60', b'"elapsed_s":61'), each)
    assert signatures.countersign(signed, others["customer"], "customer") == signed
    # A role is signed, too: of another one, and in the referee's place, a signature is none.
    customer, third = record["countersignatures"]
    swapped = [{**customer, "role": "consultancy"}, third]
    assert not _holds(_with(signed, countersignatures=swapped), others["customer"])
    in_place = {name: each for name, each in customer.items() if name != "role"}
    assert not _holds(_with(signed, signature=in_place, countersignatures=[]), others["customer"])
    twice = _with(signed, countersignatures=[customer, customer])
    with pytest.raises(records.RecordError):
        records.load(twice)
    stranger = signatures.make_key(tmp_path / "stranger")
    with pytest.raises(NotSigned):
        signatures.check(signed, stranger.public)


def _with(signed: bytes, **changes: Any) -> bytes:
    return canonical({**json.loads(signed), **changes})


def test_a_record_that_contradicts_itself_is_not_signed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "record.json"
    file.write_bytes(canonical({**twice_as_fast(), "elapsed_s": 61.0}))
    signatures.make_key(tmp_path / "mine")
    monkeypatch.setenv(signatures.KEY_FILE_VARIABLE, str(tmp_path / "mine"))
    assert main(["sign", str(file), "--as", "customer"]) == 1
