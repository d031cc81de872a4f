"""Whose attempts to sign in are counted together.

Wrong passwords for an address are counted by the network that they come from, so that a stranger
elsewhere holds up nobody. Those of all networks together have a limit too, or many networks would
guess many times as often; it does not hold up a network from which the address was signed in to, or
its password chosen by a mail's link, in the last weeks.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from allauth.core.internal.ratelimit import RateLimitUsage, clear, consume
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

_APP: Final = "consultancy"
_ACTION: Final = "login_failed_anywhere"
# Of one address, from all networks that are not known. What is counted by network stands in
# ACCOUNT_RATE_LIMITS: one of them has less than half of this in an hour.
ANYWHERE: Final = {_ACTION: "50/h/key"}
KNOWN_FOR: Final = timedelta(days=30)


def count_anywhere(request: HttpRequest, *, address: str, network: str) -> RateLimitUsage | None:
    """Count an attempt for this address, wherever it comes from; None where there were too many.

    The answer takes it back where the password was right.
    """
    if cache.get(_known_key(address, network)):
        return RateLimitUsage(usage=[])
    return consume(request, app=_APP, action=_ACTION, config=ANYWHERE, key=_key(address))


def know(*, address: str, network: str) -> None:
    """Somebody proved from this network to be who has the address."""
    cache.set(_known_key(address, network), True, timeout=int(KNOWN_FOR.total_seconds()))


def forget(request: HttpRequest, *, address: str) -> None:
    """Count anew for this address: its password was chosen by a mail's link."""
    clear(request, app=_APP, action=_ACTION, config=ANYWHERE, key=_key(address))


def _key(address: str) -> str:
    return address.lower()


def _known_key(address: str, network: str) -> str:
    """Hashed: neither is kept."""
    about = f"{address.lower()} {network}"
    return f"signed-in:{salted_hmac('consultancy.attempts', about).hexdigest()[:32]}"
