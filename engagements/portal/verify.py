"""Public pages that verify records and documents."""

from __future__ import annotations

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from benchmarks.models import SigningKey
from engagements.common.hashing import HashingUploadHandler
from engagements.common.uploads import Bounded
from engagements.documents.signature import signer_of
from engagements.portal.verification import Verified, verified
from engagements.portal.verify_forms import DigestForm, FileForm


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Explain how to verify a record, and list the public keys."""
    return render(request, "documents/verify.html", {"keys": SigningKey.objects.filter(owner="")})


@require_safe
def public_key(request: HttpRequest, key_id: str) -> HttpResponse:
    """Return a public key as PEM."""
    key = SigningKey.objects.filter(key_id=key_id).first()
    if key is None:
        raise Http404("No such key.")
    response = HttpResponse(key.public_key, content_type="text/plain; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
def document(request: HttpRequest) -> HttpResponse:
    """Identify the item with `digest`, without its content; without a digest, show the form."""
    asked = DigestForm(request.GET) if "digest" in request.GET else DigestForm()
    if not asked.is_bound or not asked.is_valid():
        return _document(request, asked)
    return _document(request, DigestForm(), digest=asked.cleaned_data["digest"])


# The view changes nothing, and a CSRF check would parse and store the file first.
@csrf_exempt
@require_POST
def file(request: HttpRequest) -> HttpResponse:
    """Identify an uploaded file, which is hashed on arrival and not stored.

    Browsers with JavaScript send the digest only.
    """
    request.upload_handlers = [Bounded(request), HashingUploadHandler(request)]
    form = FileForm(request.POST, request.FILES)
    if not form.is_valid():
        return _document(request, DigestForm(), file_form=form)
    return _document(request, DigestForm(), digest=form.digest())


@require_safe
def certificate(request: HttpRequest) -> HttpResponse:
    """Return the signing certificate of the document with `digest`, as PEM."""
    asked = DigestForm(request.GET)
    found = verified(asked.cleaned_data["digest"]) if asked.is_valid() else None
    signer = _signer(found)
    if signer is None:
        raise Http404("No such signed document.")
    pem = signer.public_bytes(serialization.Encoding.PEM)
    response = HttpResponse(pem, content_type="application/x-pem-file")
    response["Content-Disposition"] = 'attachment; filename="certificate.pem"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _document(
    request: HttpRequest,
    asked: DigestForm,
    *,
    digest: str = "",
    file_form: FileForm | None = None,
) -> HttpResponse:
    found = verified(digest) if digest else None
    signer = _signer(found)
    context = {
        "form": asked,
        "file_form": file_form or FileForm(),
        "digest": digest,
        "found": found,
        "signer": signer.subject.rfc4514_string() if signer else "",
        "fingerprint": signer.fingerprint(hashes.SHA256()).hex(":") if signer else "",
    }
    is_wrong = bool(asked.errors or (file_form and file_form.errors))
    status = 422 if is_wrong else 404 if digest and found is None else 200
    return render(request, "documents/verify_document.html", context, status=status)


def _signer(found: Verified | None) -> x509.Certificate | None:
    if found is None or found.document is None:
        return None
    return signer_of(bytes(found.document.content))
