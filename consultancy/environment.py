"""Reads the environment for the settings, and says what is wrong in words to act on."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

SECRET_LENGTH = 50
HOW_TO_MAKE_ONE = 'python -c "import secrets; print(secrets.token_urlsafe(50))"'
# What a hurried operator types, and what frameworks print in their examples.
GIVEAWAYS = ("changeme", "change-me", "secret", "password", "default", "django-insecure", "example")


def database_of(url: str, *, engine: str = "django.db.backends.postgresql") -> dict[str, Any]:
    """Django's form of a PostgreSQL URL, read by libpq's own parser.

    So a unix socket, a list of hosts and `sslmode` work as they do for `psql`.
    """
    if urlsplit(url).scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(
            "DATABASE_URL must be a PostgreSQL URL, such as "
            "postgresql://twofold:PASSWORD@db.example.org:5432/twofold"
        )
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {error}") from error
    return {
        "ENGINE": engine,
        "NAME": parts.pop("dbname", ""),
        "USER": parts.pop("user", ""),
        "PASSWORD": parts.pop("password", ""),
        "HOST": parts.pop("host", ""),
        "PORT": str(parts.pop("port", "")),
        "OPTIONS": dict(parts),
    }


def cache_of(broker_url: str) -> dict[str, Any]:
    """Django's form of a cache that lives beside the broker; one of this process for a test's."""
    local = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "shared"}
    scheme = urlsplit(broker_url).scheme
    if scheme not in ("redis", "rediss", "redis+socket"):
        return local
    return {
        "BACKEND": "consultancy.shared_cache.SharedCache",
        # Celery and redis-py spell a unix socket differently.
        "LOCATION": broker_url.replace("redis+socket://", "unix://", 1),
        "KEY_PREFIX": "twofold",
        "OPTIONS": {"socket_connect_timeout": 1.0, "socket_timeout": 1.0},
    }


class Environment:
    """The variables of one process. An empty variable counts as an unset one."""

    def __init__(self, variables: Mapping[str, str] = os.environ) -> None:
        # What the settings asked for: the tests compare it with docker-compose.yml and README.md.
        self.names: set[str] = set()
        self.reader = environ.Env()
        self.reader.ENVIRON = {key: value for key, value in variables.items() if value}

    def optional(self, name: str) -> str | None:
        """The variable's text, or None."""
        self.names.add(name)
        value: str | None = self.reader.str(name, default=None)
        return value

    def required(self, name: str, *, why: str) -> str:
        """The variable's text; refuses to start without it."""
        value = self.optional(name)
        if value is None:
            raise ImproperlyConfigured(f"{name} is not set. {why}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """A yes or no: 1, true, yes, on; 0, false, no, off."""
        text = self.optional(name)
        if text is None:
            return default
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
        raise ImproperlyConfigured(f"{name} is {text!r}; it must be 1 or 0.")

    def words(self, name: str) -> list[str]:
        """A list, separated by commas."""
        return [word.strip() for word in (self.optional(name) or "").split(",") if word.strip()]

    def isolation(self, *, production: bool) -> list[str]:
        """What a run insists on: in production what an acceptance needs, unless said otherwise."""
        words = self.words("TWOFOLD_REQUIRED_ISOLATION") or (["acceptance"] if production else [])
        return [] if words == ["none"] else words

    def path(self, name: str, default: Path) -> Path:
        """A folder or file, made absolute."""
        return Path(self.optional(name) or default).expanduser().absolute()

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of some words; the first is the default."""
        value = self.optional(name) or choices[0]
        if value not in choices:
            raise ImproperlyConfigured(f"{name} is {value!r}; it must be {' or '.join(choices)}.")
        return value

    def secret_key(self, *, production: bool, home: Path) -> str:
        """The key that signs sessions: given in production, else made once for this checkout."""
        make_one = f"Make one with: {HOW_TO_MAKE_ONE}"
        if not production:
            return self.optional("TWOFOLD_SECRET_KEY") or _own_secret(home / "secret")
        key = self.required(
            "TWOFOLD_SECRET_KEY", why=f"It signs sessions and password links. {make_one}"
        )
        lowered = key.lower()
        if len(key) < SECRET_LENGTH or len(set(key)) < 10:
            raise ImproperlyConfigured(
                f"TWOFOLD_SECRET_KEY is too weak: it needs {SECRET_LENGTH} random characters. "
                f"{make_one}"
            )
        if any(giveaway in lowered for giveaway in GIVEAWAYS):
            raise ImproperlyConfigured(
                f"TWOFOLD_SECRET_KEY looks like an example and not like a secret. {make_one}"
            )
        return key

    def hosts(self, *, production: bool) -> list[str]:
        """The host names that the site answers to."""
        if not production:
            return self.words("TWOFOLD_HOSTS") or ["localhost", "127.0.0.1", "[::1]", "testserver"]
        why = "List the site's host names, separated by commas: TWOFOLD_HOSTS=twofold.example.org"
        self.required("TWOFOLD_HOSTS", why=why)
        hosts = self.words("TWOFOLD_HOSTS")
        if not hosts or any("*" in host or host.startswith(".") for host in hosts):
            raise ImproperlyConfigured(
                f"TWOFOLD_HOSTS has a wildcard: links in mails could be forged. {why}"
            )
        return hosts

    def database(self, *, production: bool) -> dict[str, Any] | None:
        """The named database; None: the embedded one."""
        if production:
            self.required(
                "DATABASE_URL",
                why="Production needs its own PostgreSQL: "
                "DATABASE_URL=postgresql://USER:PASSWORD@HOST:5432/NAME",
            )
        url = self.optional("DATABASE_URL")
        return database_of(url) if url else None

    def broker(self, *, production: bool) -> str | None:
        """The named broker; None: the embedded one."""
        if production:
            self.required(
                "BROKER_URL",
                why="Production needs its own Redis or Valkey: BROKER_URL=redis://HOST:6379/0",
            )
        return self.optional("BROKER_URL")

    def records(self, folder: Path) -> dict[str, Any]:
        """Where records and documents are kept: a bucket when one is named, else a folder."""
        bucket = self.optional("TWOFOLD_RECORDS_BUCKET")
        if bucket is None:
            return {
                "BACKEND": "django.core.files.storage.FileSystemStorage",
                "OPTIONS": {"location": folder, "base_url": None},
            }
        why = "It opens the bucket that TWOFOLD_RECORDS_BUCKET names."
        return {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {
                "bucket_name": bucket,
                "endpoint_url": self.optional("TWOFOLD_RECORDS_ENDPOINT"),
                "region_name": self.optional("TWOFOLD_RECORDS_REGION"),
                "access_key": self.required("TWOFOLD_RECORDS_ACCESS_KEY", why=why),
                "secret_key": self.required("TWOFOLD_RECORDS_SECRET_KEY", why=why),
                "default_acl": None,
                "querystring_auth": True,
                # Sealed bytes are never replaced by others of the same name.
                "file_overwrite": False,
            },
        }

    def consultancy(self, *, production: bool) -> dict[str, str]:
        """The consultancy's own name and address. In production each contract carries them."""
        why = "Contracts, invoices and documents are made out in this name."
        if production:
            self.required("TWOFOLD_HOUSE_NAME", why=why)
            self.required("TWOFOLD_HOUSE_ADDRESS", why=why)
            self.required("TWOFOLD_HOUSE_VAT_ID", why="Invoices name it; EN 16931 wants it.")
        return {
            "name": self.optional("TWOFOLD_HOUSE_NAME") or "Demo Kernel Consultancy",
            "address": (
                self.optional("TWOFOLD_HOUSE_ADDRESS") or "Beispielweg 1\\n10115 Berlin"
            ).replace("\\n", "\n"),
            "country": self.optional("TWOFOLD_HOUSE_COUNTRY") or "DE",
            "vat_id": self.optional("TWOFOLD_HOUSE_VAT_ID") or "DE123456789",
            "email": self.optional("TWOFOLD_HOUSE_EMAIL") or "",
        }

    def bank_account(self, *, production: bool) -> dict[str, str]:
        """The account that customers pay to, as invoices carry it."""
        if production:
            self.required("TWOFOLD_HOUSE_IBAN", why="Invoices ask customers to pay to it.")
        # The IBAN that the standard itself gives as its example.
        iban = self.optional("TWOFOLD_HOUSE_IBAN") or "DE89370400440532013000"
        return {
            "holder": self.consultancy(production=production)["name"],
            "iban": "".join(iban.split()).upper(),
            "bic": (self.optional("TWOFOLD_HOUSE_BIC") or "").strip().upper(),
        }

    def email(self, *, production: bool) -> dict[str, Any]:
        """Django's mail settings; in development mail is printed on the terminal."""
        if production:
            why = "Mail would be lost: EMAIL_URL=smtp+tls://USER:PASSWORD@HOST:587"
            self.required("EMAIL_URL", why=why)
            self.required("TWOFOLD_FROM_EMAIL", why="Mails are sent from this address.")
        sender = self.optional("TWOFOLD_FROM_EMAIL") or "Twofold <twofold@localhost>"
        settings = {"DEFAULT_FROM_EMAIL": sender, "SERVER_EMAIL": sender, "EMAIL_TIMEOUT": 10}
        url = self.optional("EMAIL_URL") or "consolemail://"
        settings.update(self.reader.email_url_config(url))
        return settings


def _own_secret(file: Path) -> str:
    """The secret of a development checkout, made on first use and kept for its owner only."""
    while True:
        try:
            return file.read_text().strip()
        except FileNotFoundError:
            file.parent.mkdir(parents=True, exist_ok=True)
        # Written whole beside its place, then linked: of two processes at once, one wins.
        draft = file.with_name(f"secret.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(SECRET_LENGTH))
        try:
            os.link(draft, file)
        except FileExistsError:
            continue
        finally:
            draft.unlink()
