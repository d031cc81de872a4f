"""RFC 3161 time stamps of a record's file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from asn1crypto import pem

from benchmarks.harness.__main__ import main
from benchmarks.records import records, signatures
from tests.engagements.documents.timestamp_authority import authority
from tests.harness.samples import twice_as_fast

AT = datetime(2026, 11, 25, 9, tzinfo=UTC)


def test_a_stamped_record_existed_at_that_time_by_that_authority(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record, other, token = (tmp_path / name for name in ("r.json", "other.json", "r.tsr"))
    record.write_bytes(records.serialize(twice_as_fast(), None))
    # The same record, signed: other bytes.
    key = signatures.make_key(tmp_path / "key")
    other.write_bytes(records.serialize(twice_as_fast(), key))
    certificates = []
    for name in ("mine.pem", "theirs.pem"):
        with authority(AT) as (url, certificate):
            if not token.exists():
                stamp = ["stamp", str(record), "--url", url, "--out", str(token)]
                assert main(stamp) == 0
            certificates.append(tmp_path / name)
            certificates[-1].write_bytes(pem.armor("CERTIFICATE", certificate.dump()))

    def verified(file: Path, by: Path) -> int:
        stamps = ["--time-stamp", str(token), "--authority", str(by)]
        return main(["verify", str(file), *stamps])

    mine, theirs = certificates
    assert verified(record, mine) == 0
    assert AT.isoformat(timespec="seconds") in capsys.readouterr().out
    assert verified(record, theirs) == 1
    assert verified(other, mine) == 1
    token.write_bytes(b"no token")
    assert verified(record, mine) == 1


def test_an_authority_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    record.write_bytes(records.serialize(twice_as_fast(), None))
    stamp = ["stamp", str(record), "--url", "http://127.0.0.1:9/", "--out", str(tmp_path / "t")]
    assert main(stamp) == 2
