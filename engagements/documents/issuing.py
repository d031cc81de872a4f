"""Issue documents: compose, render, sign, store once."""

from __future__ import annotations

import hashlib

from django.db import IntegrityError, transaction

from engagements.documents import failures
from engagements.documents.models import Document
from engagements.documents.registry import Subject, kind_of
from engagements.documents.renderable import RenderableDocument
from engagements.event_log import events


def issue(*, kind: str, subject: str) -> Document:
    """Return the document of this kind and subject, issuing it if there is none yet.

    Idempotent: of two concurrent calls one stores the document and both return it.
    ApplicationError when it is not due; ValueError for an unknown kind or subject. A failure to
    render or sign is recorded for the consultant's page of the engagement.
    """
    issued = Document.objects.filter(kind=kind, subject=subject).first()
    if issued is not None:
        return issued
    row = Subject.read(subject)
    chosen = kind_of(kind)
    if row.noun != chosen.NOUN:
        raise ValueError(f"{kind} is issued for {chosen.NOUN}:…, not for {subject}.")
    source = chosen.compose(row)

    from engagements.documents.render import RenderFailed
    from engagements.documents.signature import SigningFailed

    try:
        content = _content_of(source)
    except (RenderFailed, SigningFailed) as error:
        failures.record(
            engagement=source.engagement,
            kind=kind,
            subject=subject,
            title=source.title,
            reason=error.reason,
        )
        raise
    return _store(kind, subject, source, content)


def _content_of(source: RenderableDocument) -> bytes:
    from engagements.documents.render import render_pdf
    from engagements.documents.signature import level_text, sign

    content = render_pdf(source, level_text=level_text())
    return sign(
        content,
        dated=source.dated,
        reason=f"{source.sealed}: {source.seal}",
        is_countersignable=source.is_countersignable,
    )


def _store(kind: str, subject: str, source: RenderableDocument, content: bytes) -> Document:
    document = Document(
        engagement=source.engagement,
        kind=kind,
        subject=subject,
        title=source.title,
        filename=source.filename,
        content=content,
        size_bytes=len(content),
        digest="sha256:" + hashlib.sha256(content).hexdigest(),
        seal=source.seal,
        for_customer=source.for_customer,
    )
    try:
        with transaction.atomic():
            document.save(force_insert=True)
            failures.clear(kind=kind, subject=subject)
            events.record(
                engagement=source.engagement,
                verb="document.issued",
                summary=f"Issued: {source.title}.",
                actor=None,
                changes={"filename": document.filename, "digest": document.digest},
                for_customer=source.for_customer,
            )
    except IntegrityError:
        other = Document.objects.filter(kind=kind, subject=subject).first()
        if other is None:
            raise
        return other
    return document
