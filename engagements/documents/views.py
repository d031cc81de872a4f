"""Serve issued documents."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from engagements import access


@login_required
@require_safe
def show(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Serve a document to staff members and to the customer it was issued for.

    `?download=yes` makes the browser save it. The ETag is the digest.
    """
    document = access.document_for(request.user, pk)
    response = HttpResponse(bytes(document.content), content_type="application/pdf")
    kind = "attachment" if request.GET.get("download") == "yes" else "inline"
    response["Content-Disposition"] = f'{kind}; filename="{document.filename}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-cache"
    etag = quote_etag(document.digest)
    response["ETag"] = etag
    return get_conditional_response(request, etag=etag, response=response) or response
