"""Issuing: compose, render_pdf, sign what is to be signed, store once."""

from __future__ import annotations

import hashlib

from django.db import IntegrityError, transaction

from engagements.documents import failures, kinds
from engagements.documents.models import Document
from engagements.documents.renderable import RenderableDocument
from engagements.documents.subjects import Subject
from engagements.event_log import events


def issue(*, kind: str, subject: str) -> Document:
    """The document of this kind about this subject; made and stored if there is none yet.

    Asked twice, or by two workers at once, one document is stored and both get it. Refused
    when it is not due; ValueError when there is no such kind or subject. What cannot be render_pdf
    or signed is noted for the consultant's page of the engagement.
    """
    issued = Document.objects.filter(kind=kind, subject=subject).first()
    if issued is not None:
        return issued
    about = Subject.read(subject)
    chosen = kinds.kind_of(kind)
    if about.noun != chosen.NOUN:
        raise ValueError(f"{kind} is issued about {chosen.NOUN}:…, not about {subject}.")
    paper = chosen.compose(about)

    from engagements.documents.render import CannotBeTypeset
    from engagements.documents.signature import CannotBeSigned

    try:
        content = _made(paper)
    except (CannotBeTypeset, CannotBeSigned) as refusal:
        failures.note(
            engagement=paper.engagement,
            kind=kind,
            subject=subject,
            title=paper.title,
            reason=refusal.reason,
        )
        raise
    return _stored(kind, subject, paper, content)


def _made(paper: RenderableDocument) -> bytes:
    from engagements.documents.render import render_pdf
    from engagements.documents.signature import sign

    content = render_pdf(paper)
    if not paper.is_signed:
        return content
    return sign(content, dated=paper.dated, reason=f"{paper.sealed}: {paper.seal}")


def _stored(kind: str, subject: str, paper: RenderableDocument, content: bytes) -> Document:
    document = Document(
        engagement=paper.engagement,
        kind=kind,
        subject=subject,
        title=paper.title,
        filename=paper.filename,
        content=content,
        size_bytes=len(content),
        digest="sha256:" + hashlib.sha256(content).hexdigest(),
        seal=paper.seal,
        for_customer=paper.for_customer,
    )
    try:
        with transaction.atomic():
            document.save(force_insert=True)
            failures.end(kind=kind, subject=subject)
            events.record(
                engagement=paper.engagement,
                verb="document.issued",
                summary=f"Issued: {paper.title}.",
                actor=None,
                changes={"filename": document.filename, "digest": document.digest},
                for_customer=paper.for_customer,
            )
    except IntegrityError:
        other = Document.objects.filter(kind=kind, subject=subject).first()
        if other is None:
            raise
        return other
    return document
