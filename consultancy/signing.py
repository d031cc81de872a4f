"""The key that this machine's referee signs records with."""

from __future__ import annotations

import getpass
import os
import socket
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from benchmarks.models import SigningKey
from benchmarks.records import signatures
from benchmarks.services import keys


def key_file() -> Path:
    """The default file of the private key."""
    return Path(settings.TWOFOLD_HOME) / "signing-key"


def terminal_user() -> str:
    """The user at the terminal, as user@machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def create(*, file: Path, name: str) -> SigningKey:
    """Create a private key in `file`, readable by its owner only, and register its public key.

    KeyUnusable when the file exists, Refused when the key cannot be registered.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    key = signatures.make_key(file)
    return keys.add(public_key=key.public.pem(), name=name, by=terminal_user())


def ensure_key() -> Path | None:
    """The default key file, created and registered if needed.

    None when the environment names a key: the worker then reads it from there. A key file that
    outlived its database is registered again.
    """
    if settings.TWOFOLD_SIGNING_KEY_IS_SET:
        return None
    file, name = key_file(), socket.gethostname()[:120]
    if not file.exists():
        create(file=file, name=name)
        return file
    public = signatures.read_key(file).public
    if not SigningKey.objects.filter(key_id=public.id).exists():
        keys.add(public_key=public.pem(), name=name, by=terminal_user())
    return file


def require_key() -> None:
    """ImproperlyConfigured when a measuring worker in production has no usable key."""
    if settings.PRODUCTION and not settings.TWOFOLD_SIGNING_KEY_IS_SET:
        raise ImproperlyConfigured(
            f"{signatures.KEY_FILE_VARIABLE} is not set, and unsigned records are rejected. "
            "Create a key with: python -m benchmarks.harness keygen FILE. Register the public key "
            "that it prints with: manage.py signing_key add PUBLIC-KEY-FILE --name MACHINE"
        )
    try:
        signatures.take_key(dict(os.environ))
    except signatures.KeyUnusable as error:
        raise ImproperlyConfigured(f"The signing key is not usable: {error}.") from error
