"""Rate limits of the API, and the headers that state them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import AnonRateThrottle, UserRateThrottle

from engagements import access
from engagements.common.client_ip import current_address
from engagements.common.rate_limits import client_network
from engagements.people.token_models import Scope

if TYPE_CHECKING:
    # It reads the throttles from the settings while it is imported itself.
    from rest_framework.views import APIView


class AccountThrottle(UserRateThrottle):
    """300 requests a minute for each account. Evidence sent by consultants is not counted."""

    rate = "300/min"

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Count one more request, unless it uploads evidence."""
        is_upload = request.method == "POST" and getattr(view, "scope", "") == Scope.EVIDENCE
        if is_upload and access.is_consultant(request.user):
            return True
        return super().allow_request(request, view)

    def headers(self) -> dict[str, str]:
        """Return the RateLimit fields (draft-ietf-httpapi-ratelimit-headers) once counted."""
        history: list[float] | None = getattr(self, "history", None)
        if history is None:
            return {}
        most, window_s = self.parse_rate(self.rate)
        if most is None or window_s is None:
            return {}
        left = max(0, most - len(history))
        reset_s = math.ceil(window_s - (self.now - history[-1])) if history else 0
        return {
            "RateLimit-Policy": f'"account";q={most};w={window_s}',
            "RateLimit": f'"account";r={left};t={max(0, reset_s)}',
        }


class RejectedThrottle(AnonRateThrottle):
    """30 requests without valid credentials a minute for each network."""

    rate = "30/min"

    def get_ident(self, request: Request) -> str:
        """Return the client's network: an IPv4 address or an IPv6 /64."""
        return client_network(current_address()) or "unknown"
