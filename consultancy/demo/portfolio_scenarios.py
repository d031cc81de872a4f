"""The made-up engagements of the demonstration's portfolio, which nothing here measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from consultancy.demo.scenarios import FAIL, PASS, SHARED_PREFIX, UNKNOWN, Scenario
from consultancy.demo.users import DemoCustomer
from engagements.contracts.milestones.models import ReleaseCondition

Finding = tuple[str, str, str]

TYPEAHEAD = DemoCustomer(
    name="Typeahead Demo BV",
    address="Voorbeeldkade 7\n1011 AB Amsterdam",
    country="NL",
    vat_id="NL123456782B01",
    currency="EUR",
    domain="typeahead.example",
    signatory="Saskia Voorbeeld",
    viewer="Pim Proef",
)
EXPERTLY = DemoCustomer(
    name="Expertly Demo SAS",
    address="5 rue de l'Exemple\n75002 Paris",
    country="FR",
    vat_id="FR11123456782",
    currency="EUR",
    domain="expertly.example",
    signatory="Chantal Exemple",
    viewer="Luc Modele",
)
QUANTILE = DemoCustomer(
    name="Quantile Demo AG",
    address="Beispielgasse 3\n1010 Wien",
    country="AT",
    vat_id="ATU12345684",
    currency="EUR",
    domain="quantile.example",
    signatory="Anna Probe",
    viewer="Max Versuch",
)

PASSES: Mapping[str, Finding] = {
    "hot": (PASS, "41%", "Two fifths of the wall-clock time of a step, in the customer's profile."),
    "off_the_shelf": (PASS, "None fits", "No library reads the customer's layout."),
    "stable": (PASS, "96% of traffic", "Two batch sizes and one length in a week of requests."),
    "survives": (PASS, "18 months", "The next model keeps the operator."),
    "maintain": (PASS, "2 engineers", "Both have written kernels, with a day a week for it."),
    "worth": (PASS, "2.4×", "The ceiling at this share of the time, by the roofline."),
}


def _scenario(
    customer: DemoCustomer,
    operator: str,
    title: str,
    workload: str,
    *,
    fee: int,
    audit_cost: int,
    weeks: int = 8,
    **findings: Finding,
) -> Scenario:
    net, audit = Decimal(fee), Decimal(audit_cost)
    signed, handover = net * 30 / 100, net * 15 / 100
    return Scenario(
        customer=customer,
        title=title,
        workload=workload,
        operator=operator,
        fee=net,
        audit_cost=audit,
        weeks=weeks,
        findings={**PASSES, **findings},
        milestones=(
            ("Contract signed", signed, ReleaseCondition.SIGNED),
            ("Audit delivered", audit, ReleaseCondition.AUDIT_DELIVERED),
            ("Target met", net - signed - audit - handover, ReleaseCondition.TARGET_MET),
            ("Handover accepted", handover, ReleaseCondition.HANDOVER),
        ),
    )


SCOPING = replace(
    SHARED_PREFIX,
    title="A second prompt shared by all agents",
    workload="Agents that start from one prompt of tools. The profile and a request log are in.",
)
REDIRECTED = _scenario(
    TYPEAHEAD,
    "flash_attention",
    "A faster attention for autocomplete",
    "Short causal prompts in bfloat16 on H200, served with torch.",
    fee=30_000,
    audit_cost=4_500,
    off_the_shelf=(
        FAIL,
        "FlashAttention-4 fits",
        "It runs these shapes as fast as the hardware allows; no custom kernel is worth its price.",
    ),
    maintain=(FAIL, "0 engineers", "Nobody at the customer has written a kernel."),
    worth=(FAIL, "1.1×", "The ceiling over FlashAttention-4, by the roofline."),
)
OFFERED = _scenario(
    EXPERTLY,
    "moe_routing",
    "Biased expert routing for a mixture of 64 experts",
    "Routing of every token to eight of 64 experts with a learned bias, on H200.",
    fee=42_000,
    audit_cost=6_000,
)
ACTIVE = _scenario(
    TYPEAHEAD,
    "rotary_embedding",
    "Rotary embedding fused with the cache's append",
    "Decoding with many short sequences, where small kernels take most of a step.",
    fee=28_000,
    audit_cost=4_500,
    maintain=(UNKNOWN, "", "The team that will own the kernel is being hired."),
)
MET = _scenario(
    QUANTILE,
    "shared_prefix_attention",
    "Decode attention for a retrieval prompt of 32,768 tokens",
    "Every request shares one long retrieval prompt. Decoding reads it once a sequence.",
    fee=52_000,
    audit_cost=6_500,
)
MISSED = _scenario(
    QUANTILE,
    "int8_linear",
    "Per-channel INT8 linear layers with fused dequantisation",
    "Prefill of a quantised 8B model, in which the linear layers dominate.",
    fee=45_000,
    audit_cost=6_000,
)
OVERDUE = _scenario(
    EXPERTLY,
    "fused_ffn",
    "A fused feed-forward block",
    "The feed-forward block of a 13B model at batch 1 to 16.",
    fee=38_000,
    audit_cost=5_500,
)
CLOSED = _scenario(
    EXPERTLY,
    "moe_routing",
    "Expert routing without padding",
    "The experts' step padded every expert to the busiest one. Routing by counts avoids it.",
    fee=40_000,
    audit_cost=5_500,
)
