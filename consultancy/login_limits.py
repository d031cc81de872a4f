"""Rate limits on failed sign-ins, per network and over all networks.

allauth counts wrong passwords for an address per network (ACCOUNT_RATE_LIMITS), so that a stranger
elsewhere cannot lock anybody out. A second limit covers all networks together, against guessing
from many at once. It exempts networks that signed in to the address, or chose its password by a
mailed link, within TRUST_PERIOD.
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
# More than twice what ACCOUNT_RATE_LIMITS allows one network, so that one alone cannot use it up.
LIMIT: Final = {_ACTION: "50/h/key"}
TRUST_PERIOD: Final = timedelta(days=30)


def count_attempt(request: HttpRequest, *, address: str, network: str) -> RateLimitUsage | None:
    """Count an attempt on this address; None when the limit is exceeded.

    The caller rolls the usage back when the password is correct.
    """
    if cache.get(_trust_key(address, network)):
        return RateLimitUsage(usage=[])
    return consume(request, app=_APP, action=_ACTION, config=LIMIT, key=_limit_key(address))


def trust_network(*, address: str, network: str) -> None:
    """Exempt a network whose user proved to own the address."""
    cache.set(_trust_key(address, network), True, timeout=int(TRUST_PERIOD.total_seconds()))


def clear_attempts(request: HttpRequest, *, address: str) -> None:
    """Reset the count for an address whose owner reset the password."""
    clear(request, app=_APP, action=_ACTION, config=LIMIT, key=_limit_key(address))


def _limit_key(address: str) -> str:
    return address.lower()


def _trust_key(address: str, network: str) -> str:
    """A hash, so that the cache holds neither address nor network."""
    value = f"{address.lower()} {network}"
    return f"signed-in:{salted_hmac('consultancy.login_limits', value).hexdigest()[:32]}"
