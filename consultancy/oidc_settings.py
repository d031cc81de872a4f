"""The settings of sign-in by the consultancy's OIDC provider, read from the environment."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from consultancy.environment import Environment


def provider(env: Environment, *, production: bool) -> dict[str, Any]:
    """allauth's settings of the OIDC provider at TWOFOLD_OIDC_URL; empty without one."""
    url = env.optional("TWOFOLD_OIDC_URL")
    names = ("TWOFOLD_OIDC_CLIENT_ID", "TWOFOLD_OIDC_CLIENT_SECRET")
    client_id, secret = map(env.optional, names)
    name = env.optional("TWOFOLD_OIDC_NAME") or "your provider"
    if url is None:
        return {}
    if production and not url.startswith("https://"):
        raise ImproperlyConfigured("TWOFOLD_OIDC_URL must begin with https:// in production.")
    if not client_id or not secret:
        raise ImproperlyConfigured(f"TWOFOLD_OIDC_URL needs {' and '.join(names)}.")
    app = {
        "provider_id": "house",
        "name": name,
        "client_id": client_id,
        "secret": secret,
        "settings": {"server_url": url},
    }
    return {"openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True}}


def roles(env: Environment) -> list[tuple[str, str]]:
    """The roles of the provider's groups in their order: kernels=consultant,it=admin."""
    known = ("consultant", "finance", "admin")
    pairs = [word.rpartition("=")[::2] for word in env.words("TWOFOLD_OIDC_ROLES")]
    for group, role in pairs:
        if not group or role not in known:
            raise ImproperlyConfigured(
                f"TWOFOLD_OIDC_ROLES has {group}={role}; write GROUP=ROLE, the role one of "
                f"{', '.join(known)}."
            )
    return pairs
