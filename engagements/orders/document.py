"""The document of an audit order: the sealed terms, and once accepted, by whom."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from benchmarks.records.canonical import digest_of_bytes
from engagements.common.dates import in_words
from engagements.common.errors import ApplicationError
from engagements.documents import formatting
from engagements.documents.registry import Subject
from engagements.documents.renderable import Enclosure, RenderableDocument
from engagements.orders.models import AuditOrder
from engagements.orders.terms import terms_of

NOUN, ACCEPTED = "audit_order", "accepted"


def due() -> Iterator[Subject]:
    """Every order as offered, and as accepted once it is."""
    for pk, state in AuditOrder.objects.values_list("pk", "state"):
        yield Subject(NOUN, pk)
        if state == AuditOrder.State.ACCEPTED:
            yield Subject(NOUN, pk, ACCEPTED)


def compose(subject: Subject) -> RenderableDocument:
    """Compose an order as offered or as accepted. ApplicationError before it is accepted."""
    order = AuditOrder.objects.select_related("engagement__customer").get(pk=subject.pk)
    if subject.act not in ("", ACCEPTED):
        raise ValueError(f"An order is issued as offered or as accepted, not {subject.act!r}.")
    if subject.act and order.accepted_at is None:
        raise ApplicationError("The customer has to accept it first.", code="order.not_accepted")
    if digest_of_bytes(bytes(order.canonical)) != order.digest:
        raise ApplicationError(
            "The stored terms differ from the sealed ones.", code="order.terms_altered"
        )
    terms, tail = terms_of(order), "-accepted" if subject.act else ""
    title = f"Audit order {order.engagement.reference}-{order.number}"
    currency = terms["currency"]
    return RenderableDocument(
        engagement=order.engagement,
        title=f"{title}{', accepted' if subject.act else ''}",
        running_title=title,
        filename=f"{order.engagement.reference}-audit-order-{order.number}{tail}.pdf",
        template="orders/document/order.html",
        dated=(subject.act and order.accepted_at) or order.offered_at,
        seal=order.digest,
        sealed="The sealed terms, attached as terms.json",
        summary=f"The audit of {terms['engagement']['title']} at a fixed price.",
        context={
            "terms": terms,
            "consultancy": formatting.party(terms["parties"]["consultancy"]),
            "customer": formatting.party(terms["parties"]["customer"]),
            "offered_on": in_words(order.offered_at),
            "valid_until": in_words(date.fromisoformat(terms["valid_until"])),
            "amounts": {
                name: formatting.figure(Decimal(terms[name]), currency)
                for name in ("price", "tax", "gross")
            },
            "tax_rate": formatting.percent(Decimal(terms["tax_rate_percent"])),
            "is_taxed": terms["tax_treatment"] == "rate",
            "order": order if subject.act else None,
            "accepted_at": formatting.moment(order.accepted_at) if order.accepted_at else "",
        },
        enclosures=(Enclosure("terms.json", bytes(order.canonical), "The sealed terms"),),
    )
