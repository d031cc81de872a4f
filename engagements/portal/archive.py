"""One archive of all documents of an engagement, as they were issued."""

from __future__ import annotations

import io
import json
import zipfile

from django.http import FileResponse, HttpRequest
from django.views.decorators.http import require_safe

from engagements import access
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.page_access import portal_page
from engagements.portal.queries import documents_of


@portal_page
@require_safe
def documents_archive(request: HttpRequest, reference: str) -> FileResponse:
    """Download the documents issued for the customer, with a list of their digests."""
    engagement = access.engagement_for(request.user, reference)
    return FileResponse(
        archive_of(engagement), as_attachment=True, filename=f"{engagement.reference}-documents.zip"
    )


def archive_of(engagement: Engagement) -> io.BytesIO:
    """Pack the documents, oldest first; equal file names are numbered."""
    buffer, names = io.BytesIO(), dict[str, int]()
    index: list[dict[str, str]] = []
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for pk in documents_of(engagement).order_by("issued_at", "pk").values_list("pk", flat=True):
            # One at a time: a scan can be large.
            row = Document.objects.get(pk=pk)
            name = _unique(row.filename, names)
            archive.writestr(name, bytes(row.content))
            index.append(
                {
                    "file": name,
                    "title": row.title,
                    "issued_at": row.issued_at.isoformat(),
                    "digest": row.digest,
                }
            )
        archive.writestr("documents.json", json.dumps(index, indent=2, ensure_ascii=False) + "\n")
    buffer.seek(0)
    return buffer


def _unique(filename: str, names: dict[str, int]) -> str:
    names[filename] = names.get(filename, 0) + 1
    if names[filename] == 1:
        return filename
    stem, dot, ending = filename.rpartition(".")
    return f"{stem}-{names[filename]}{dot}{ending}"
