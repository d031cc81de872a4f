"""Download of e-invoices, for finance and for customers."""

from __future__ import annotations

from django.http import Http404, HttpResponse

from engagements.billing import e_invoice
from engagements.billing.models import Invoice


def xrechnung_response(invoice: Invoice) -> HttpResponse:
    """The XRechnung of an issued invoice, rendered from its frozen facts; 404 without one."""
    if invoice.frozen is None or e_invoice.missing_for_xrechnung(invoice.frozen):
        raise Http404("No XRechnung of this invoice.")
    response = HttpResponse(e_invoice.xrechnung(invoice.frozen), content_type="application/xml")
    name = f"{invoice.reference}-xrechnung.xml"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
