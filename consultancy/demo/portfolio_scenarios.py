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
    "off_the_shelf": (PASS, "None fits", "No library reads the customer's layout."),
    "stable": (PASS, "96% of traffic", "A few batch sizes make up a week of requests."),
    "survives": (PASS, "18 months", "The next model keeps the operator."),
    "maintain": (PASS, "2 engineers", "Both have written kernels, with a day a week for it."),
}


def _passes(share: float) -> dict[str, Finding]:
    """Return passing findings for an operator that takes `share` of a step's wall-clock time."""
    ceiling = 1 / (1 - share)
    return {
        **PASSES,
        "hot": (
            PASS,
            f"{share:.0%}",
            "Of the wall-clock time of a step, in the customer's profile.",
        ),
        "worth": (PASS, f"{ceiling:.1f}×", "The ratio of a step whose operator takes no time."),
    }


def _scenario(
    customer: DemoCustomer,
    operator: str,
    title: str,
    workload: str,
    *,
    fee: int,
    audit_cost: int,
    share: float,
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
        findings={**_passes(share), **findings},
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
    share=0.41,
    off_the_shelf=(
        FAIL,
        "FlashAttention-4 fits",
        "It runs these shapes as fast as the hardware allows; no custom kernel is worth its price.",
    ),
    maintain=(FAIL, "0 engineers", "Nobody at the customer has written a kernel."),
    worth=(FAIL, "1.1×", "The ratio of a step whose operator runs at its roofline."),
)
OFFERED = _scenario(
    EXPERTLY,
    "paged_decode",
    "Decode attention over a paged FP8 cache",
    "Up to 64 sequences decoded together from pages of FP8 keys and values, on H200.",
    fee=42_000,
    audit_cost=6_000,
    share=0.833,
)
ACTIVE = _scenario(
    TYPEAHEAD,
    "rotary_embedding",
    "Rotary embedding fused with the cache's append",
    "Decoding with many short sequences, where small kernels take most of a step.",
    fee=28_000,
    audit_cost=4_500,
    share=0.55,
    maintain=(UNKNOWN, "", "The team that will own the kernel is being hired."),
)
MET = _scenario(
    QUANTILE,
    "shared_prefix_attention",
    "Decode attention for a retrieval prompt of 32,768 tokens",
    "Every request shares one long retrieval prompt. Decoding reads it once a sequence.",
    fee=52_000,
    audit_cost=6_500,
    share=0.844,
)
MISSED = _scenario(
    QUANTILE,
    "int8_linear",
    "Per-channel INT8 linear layers with fused dequantisation",
    "Decoding with a quantised 8B model, in which the linear layers dominate.",
    fee=45_000,
    audit_cost=6_000,
    share=0.668,
)
OVERDUE = _scenario(
    EXPERTLY,
    "fused_ffn",
    "A fused feed-forward block",
    "The feed-forward block of a 13B model at batch 1 to 16.",
    fee=38_000,
    audit_cost=5_500,
    share=0.632,
)
CLOSED = _scenario(
    EXPERTLY,
    "moe_routing",
    "Expert routing without padding",
    "The experts' step padded every expert to the busiest one. Routing by counts avoids it.",
    fee=40_000,
    audit_cost=5_500,
    share=0.888,
)
