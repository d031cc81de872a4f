"""The two demonstration engagements: scope, evidence, findings by hand, price."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from consultancy.demo import first_attempt
from consultancy.demo.evidence import DemoEvidence, next_model
from consultancy.demo.users import LONGPROMPT, SLIDEWELL, DemoCustomer
from engagements.audit.rules import Needs
from engagements.contracts.milestones.models import ReleaseCondition
from engagements.evidence.readers.questions import GpuBill
from kernels import catalogue

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"


@dataclass(frozen=True)
class Scenario:
    """One engagement. Amounts are net, in the customer's currency.

    `findings` are entered by hand, for the checks that `evidence` does not decide. With a
    `first_attempt` the contract allows several acceptance runs, and that is the first.
    """

    customer: DemoCustomer
    title: str
    workload: str
    operator: str
    fee: Decimal
    audit_cost: Decimal
    weeks: int
    findings: dict[str, tuple[str, str, str]]
    milestones: tuple[tuple[str, Decimal, ReleaseCondition], ...]
    evidence: DemoEvidence | None = None
    acceptance_runs: int = 1
    # The source of an attempt before the catalogue's candidate.
    first_attempt: str = ""
    # Why a library that the audit found to fit is not the baseline.
    exclusion_reason: str = ""


SHARED_PREFIX = Scenario(
    customer=LONGPROMPT,
    title="Decode attention over one shared system prompt",
    workload=(
        "A support assistant: every request carries the same long system prompt and a short "
        "question of its own. Decoding reads the prompt's keys and values once per sequence."
    ),
    operator="shared_prefix_attention",
    fee=Decimal("48000"),
    audit_cost=Decimal("6500"),
    weeks=6,
    findings={
        "maintain": (
            UNKNOWN,
            "",
            "The customer is still deciding who will own the kernel after the handover.",
        ),
    },
    evidence=DemoEvidence(
        files=("decode.trace.json.gz", "requests.csv"),
        answers={
            "roadmap": next_model(weeks=78),
            "gpu_bill": GpuBill(amount_a_month=Decimal("90000"), currency="EUR"),
        },
        needs=Needs(
            definition="shared_prefix_attention",
            dtype="bfloat16",
            architecture="sm90",
            features=("prefix_sharing",),
            # The sizes in the profile.
            axes=catalogue.presets("shared_prefix_attention")["h200"].workloads[0].axes,
        ),
    ),
    acceptance_runs=3,
    first_attempt=first_attempt.SOURCE,
    exclusion_reason=(
        "The server keeps its caches in torch's layout, which these libraries do not read."
    ),
    milestones=(
        ("Contract signed", Decimal("14400"), ReleaseCondition.SIGNED),
        ("Audit delivered", Decimal("6500"), ReleaseCondition.AUDIT_DELIVERED),
        ("Target met on the agreed benchmark", Decimal("19100"), ReleaseCondition.TARGET_MET),
        ("Handover accepted", Decimal("8000"), ReleaseCondition.HANDOVER),
    ),
)

WINDOWED_SKIP = Scenario(
    customer=SLIDEWELL,
    title="Sliding-window attention with skips for long documents",
    workload=(
        "A long-document reader whose attention covers a window of recent tokens and every 32nd "
        "token before it. The variant is part of the model and is not negotiable."
    ),
    operator="windowed_skip_attention",
    fee=Decimal("36000"),
    audit_cost=Decimal("5200"),
    weeks=6,
    findings={
        "hot": (
            PASS,
            "24%",
            "Attention is a quarter of the wall-clock time of a layer in the customer's profile.",
        ),
        "off_the_shelf": (
            PASS,
            "No library has a kernel for this mask",
            "A general masked attention computes it, including the masked blocks.",
        ),
        "stable": (
            PASS,
            "100% of traffic",
            "Documents are truncated to one length before they reach the model.",
        ),
        "survives": (
            PASS,
            "12 months",
            "No change of model is planned within a year.",
        ),
        "maintain": (
            FAIL,
            "0 engineers",
            "Nobody at the customer has written a kernel, and no time is set aside for it.",
        ),
        "worth": (
            UNKNOWN,
            "",
            "Not measured yet; the contract's benchmark will.",
        ),
    },
    milestones=(
        ("Contract signed", Decimal("10800"), ReleaseCondition.SIGNED),
        ("Audit delivered", Decimal("5200"), ReleaseCondition.AUDIT_DELIVERED),
        ("Target met on the agreed benchmark", Decimal("14000"), ReleaseCondition.TARGET_MET),
        ("Handover accepted", Decimal("6000"), ReleaseCondition.HANDOVER),
    ),
)

SCENARIOS = (SHARED_PREFIX, WINDOWED_SKIP)
