"""The referee's own key on this machine: who holds it, and how an install gets one."""

from __future__ import annotations

import getpass
import os
import socket
from pathlib import Path

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from benchmarks.harness.records.records import signatures
from benchmarks.models import SigningKey
from benchmarks.services import keys


def key_file() -> Path:
    """Where this install keeps the private half, when nobody names another place."""
    return Path(settings.TWOFOLD_HOME) / "signing-key"


def person() -> str:
    """Who is at the terminal, for the list of keys: user@machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def create(*, file: Path, name: str) -> SigningKey:
    """Make a key in `file`, for its owner only, and register its public half.

    KeyUnusable when something is there already, Refused when it cannot be registered.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    key = signatures.make_key(file)
    return keys.add(public_key=key.public.pem(), name=name, by=person())


def have_one() -> Path | None:
    """The key file for the worker of an install without a named key; made when there is none.

    None where the environment names one, which the worker then has anyway. The public half is
    registered again in a database that does not know it, such as one made anew.
    """
    if settings.TWOFOLD_SIGNING_KEY_IS_SET:
        return None
    file, name = key_file(), socket.gethostname()[:120]
    if not file.exists():
        create(file=file, name=name)
        return file
    public = signatures.read_key(file).public
    if not SigningKey.objects.filter(key_id=public.id).exists():
        keys.add(public_key=public.pem(), name=name, by=person())
    return file


def require_key() -> None:
    """Refuse to start a worker that measures in production and could sign nothing."""
    if settings.PRODUCTION and not settings.TWOFOLD_SIGNING_KEY_IS_SET:
        raise ImproperlyConfigured(
            f"{signatures.KEY_FILE_VARIABLE} is not set. The worker that measures signs its "
            "records, and unsigned ones are refused. Make a key with: "
            "python -m benchmarks.harness keygen FILE, and register what it prints with: "
            "manage.py signing_key add PUBLIC-KEY-FILE --name MACHINE"
        )
    try:
        signatures.take_from(dict(os.environ))
    except signatures.KeyUnusable as error:
        raise ImproperlyConfigured(f"The signing key cannot be used: {error}.") from error
