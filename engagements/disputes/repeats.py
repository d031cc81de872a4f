"""Decide a dispute by the signed record of a repeat."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db import transaction

from benchmarks import evidence, storage
from benchmarks.errors import BenchmarkError
from benchmarks.models import Record, Repetition, SigningKey, Verdict
from benchmarks.records import signatures
from benchmarks.services import repetitions
from engagements.common import validation
from engagements.common.errors import ApplicationError
from engagements.common.money import format_money
from engagements.disputes import verdicts
from engagements.disputes.models import MeasurementDispute
from engagements.disputes.services import end, locked, party_of, require_open
from engagements.people.models import User
from engagements.runs.pairs import Decision
from engagements.runs.summary import record_of

State = MeasurementDispute.State
Party = MeasurementDispute.Party
Repeater = MeasurementDispute.Repeater


@transaction.atomic
def upload(
    *,
    dispute: MeasurementDispute,
    content: bytes,
    by: User,
    cost: Decimal | None = None,
    cost_payer: str = "",
) -> MeasurementDispute:
    """Decide an open dispute by the record of its repeat.

    The record has a signature by a registered key, the run's benchmark and candidate, the sealed
    hardware and the libraries of the disputed record. A key that a party brings along proves
    nothing: it could sign any figures. Overlapping intervals confirm the verdict; otherwise, and
    where two measurements disagreed, that of the repeat replaces it. `cost` is the net cost of the
    repeat, in the contract's currency, and `cost_payer` the party that paid it: by default the
    customer for its own repeat, and the uploading party for an expert's. The customer's signatory
    uploads the customer's repeat; either
    party that of the expert.
    """
    row = locked(dispute)
    party = party_of(row.engagement, by)
    require_open(row)
    if row.repeater == Repeater.CUSTOMER and party != Party.CUSTOMER:
        raise ApplicationError(
            "The customer uploads the record of its own repeat.", code="dispute.other_party"
        )
    disputed = record_of(row.run)
    assert disputed is not None  # a disputed run has a record
    try:
        repetition, driver = _verified(row, disputed, content, by)
    except BenchmarkError as error:
        raise ApplicationError(error.message, code=error.code) from error
    contract = row.run.contract_version
    assert contract is not None  # an acceptance run names its contract
    if cost is not None:
        row.cost = validation.amount(cost, contract.currency, noun="The cost")
        is_own = row.repeater == Repeater.CUSTOMER
        row.cost_payer = Party.CUSTOMER if is_own else cost_payer or party
    is_confirmed = row.run.decision != Decision.DISAGREED and confirms(disputed, repetition)
    row.repetition, row.cost_bearer = repetition, _bearer(row, repetition, is_confirmed)
    notes = " ".join(filter(None, [driver, _costs(row, contract.currency)]))
    if is_confirmed:
        end(row, State.CONFIRMED, f"The repeat confirms the verdict. {notes}", by)
        return row
    row.new_verdict = repetition.verdict
    verdict = Verdict(repetition.verdict).label.lower()
    end(row, State.REPLACED, f"The repeat replaces the verdict by: {verdict}. {notes}", by)
    verdicts.apply(row, by=by)
    return row


def _costs(dispute: MeasurementDispute, currency: str) -> str:
    """Say who bears the cost of the repeat, and who reimburses whom."""
    bearer = Party(dispute.cost_bearer).label
    if dispute.cost is None:
        return f"{bearer} bears the cost of the repeat."
    amount = f"{format_money(dispute.cost, currency)} net"
    text = f"{bearer} bears the cost of the repeat, {amount}"
    if not dispute.owes_reimbursement:
        return f"{text}."
    return f"{text}, and reimburses {Party(dispute.cost_payer).label.lower()}."


def _bearer(dispute: MeasurementDispute, repetition: Repetition, is_confirmed: bool) -> Party:
    """The party that bears the cost of a repeat.

    Where the measurements of both parties disagreed, the one whose measurement the repeat does not
    confirm, if it confirms the other; else the party that asked for it, unless it was right.
    """
    asked = Party(dispute.party)
    other = Party.CUSTOMER if asked == Party.CONSULTANCY else Party.CONSULTANCY
    if dispute.run.decision != Decision.DISAGREED:
        return asked if is_confirmed else other
    records = [record_of(each) for each in dispute.run.both]
    ours, theirs = (record is not None and confirms(record, repetition) for record in records)
    if ours == theirs:
        return asked
    return Party.CUSTOMER if ours else Party.CONSULTANCY


def confirms(disputed: Record, repetition: Repetition) -> bool:
    """Whether the intervals overlap; without an interval, whether the verdicts are the same."""
    if (
        disputed.low is None
        or disputed.high is None
        or repetition.low is None
        or repetition.high is None
    ):
        return disputed.verdict == repetition.verdict
    return disputed.low <= repetition.high and repetition.low <= disputed.high


def _verified(
    dispute: MeasurementDispute, disputed: Record, content: bytes, by: User
) -> tuple[Repetition, str]:
    """Store the record as a repetition of the run, or decline it; and say if the driver differs."""
    recomputed = evidence.recompute(content)
    if recomputed.digest == disputed.digest:
        raise ApplicationError("This is the disputed record.", code="dispute.same_record")
    _require_signature(content)
    _require_hardware(recomputed.record)
    original = json.loads(storage.load(disputed))["environment"]
    driver = _compared_versions(original, recomputed.record["environment"])
    if recomputed.summary.verdict == "invalid":
        raise ApplicationError(
            "The repeat is invalid, so it decides nothing. Repeat it.", code="dispute.invalid"
        )
    return repetitions.add(content=content, by=str(by), run=dispute.run.run), driver


def _compared_versions(original: Mapping[str, Any], repeat: Mapping[str, Any]) -> str:
    """Require the libraries of the disputed record; return a sentence where the driver differs.

    A driver belongs to the machine, so another one is noted and does not decline the repeat.
    """
    names = ("torch", "triton", "cuda")
    differing = [
        f"{name} {repeat[name] or 'missing'} instead of {original[name]}"
        for name in names
        if repeat[name] != original[name]
    ]
    if differing:
        raise ApplicationError(
            f"The repeat used {', '.join(differing)}. Repeat it with the versions of the disputed "
            "record.",
            code="dispute.other_versions",
        )
    if repeat["driver"] == original["driver"]:
        return ""
    return f"It used driver {repeat['driver']} instead of {original['driver']}."


def _require_signature(content: bytes) -> None:
    signature = signatures.signature_of(content)
    if signature is None:
        raise ApplicationError("The record is not signed.", code="dispute.unsigned")
    # A customer's own runner must not decide a dispute.
    key = SigningKey.objects.filter(key_id=signature["key_id"], owner="").first()
    if key is None:
        raise ApplicationError(
            f"The key {signature['key_id']} is not registered. Ask the consultancy to register the "
            "public key of the machine that repeated the run, then upload the record again.",
            code="dispute.unknown_key",
        )
    if key.revoked_at is not None or key.retired_at is not None:
        raise ApplicationError(
            "The record’s key was retired or revoked.", code="dispute.revoked_key"
        )
    evidence.check_signature(content, key)


def _require_hardware(record: Mapping[str, Any]) -> None:
    sealed, used = record["benchmark"]["hardware"], record["environment"]["device"]
    if used["kind"] != sealed["device"] or sealed["name"] not in (None, used["name"]):
        raise ApplicationError(
            f"The repeat was measured on {used['name']}; the benchmark names "
            f"{sealed['name'] or sealed['device']}.",
            code="dispute.other_hardware",
        )
