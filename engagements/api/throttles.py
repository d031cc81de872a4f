"""Rate limits of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import AnonRateThrottle, UserRateThrottle

from engagements import access
from engagements.common.client_ip import current_address
from engagements.common.rate_limits import client_network

if TYPE_CHECKING:
    # It reads the throttles from the settings while it is imported itself.
    from rest_framework.views import APIView


class AccountThrottle(UserRateThrottle):
    """300 requests a minute for each account. Uploads by consultants are not counted."""

    rate = "300/min"

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count one more request, unless it uploads a file."""
        if request.method == "POST" and access.is_consultant(request.user):
            return True
        return super().allow_request(request, view)


class RejectedThrottle(AnonRateThrottle):
    """30 requests without valid credentials a minute for each network."""

    rate = "30/min"

    def get_ident(self, request: Request) -> str:
        """Return the client's network: an IPv4 address or an IPv6 /64."""
        return client_network(current_address()) or "unknown"
