"""Parse and validate the environment variables that the settings use."""

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
HSTS_SECONDS = 30 * 24 * 3600
# The least that https://hstspreload.org accepts.
HSTS_PRELOAD_SECONDS = 365 * 24 * 3600
HOW_TO_GENERATE = 'python -c "import secrets; print(secrets.token_urlsafe(50))"'
# May also be given by file: NAME_FILE is the path, as of a mounted secret.
SECRETS = frozenset(
    {
        "BROKER_URL",
        "DATABASE_URL",
        "EMAIL_URL",
        "TWOFOLD_METRICS_TOKEN",
        "TWOFOLD_OIDC_CLIENT_SECRET",
        "TWOFOLD_RECORDS_ACCESS_KEY",
        "TWOFOLD_RECORDS_SECRET_KEY",
        "TWOFOLD_SECRET_KEY",
    }
)
# Words of example keys.
PLACEHOLDERS = (
    "changeme",
    "change-me",
    "secret",
    "password",
    "default",
    "django-insecure",
    "example",
)


def database_of(url: str, *, engine: str = "django.db.backends.postgresql") -> dict[str, Any]:
    """Convert a PostgreSQL URL to Django's settings.

    libpq parses it, so unix sockets, host lists and `sslmode` work as in `psql`.
    """
    if urlsplit(url).scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(
            "DATABASE_URL must be a PostgreSQL URL, such as "
            "postgresql://twofold:PASSWORD@db.example.org:5432/twofold"
        )
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"DATABASE_URL is invalid: {error}") from error
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
    """The shared cache in the broker's server; an in-process one for an in-memory broker."""
    if urlsplit(broker_url).scheme not in ("redis", "rediss", "redis+socket"):
        return {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "shared"}
    return {
        "BACKEND": "consultancy.shared_cache.SharedCache",
        # Celery and redis-py use different schemes for a unix socket.
        "LOCATION": broker_url.replace("redis+socket://", "unix://", 1),
        "KEY_PREFIX": "twofold",
        "OPTIONS": {"socket_connect_timeout": 1.0, "socket_timeout": 1.0},
    }


class Environment:
    """The environment of one process. An empty variable counts as unset."""

    def __init__(self, variables: Mapping[str, str] = os.environ) -> None:
        # Every variable read so far; tests compare it with docker-compose.yml and README.md.
        self.names: set[str] = set()
        self.reader = environ.Env()
        self.reader.ENVIRON = {key: value for key, value in variables.items() if value}

    def optional(self, name: str) -> str | None:
        """The value, or None."""
        self.names.add(name)
        value: str | None = self.reader.str(name, default=None)
        if value is None and name in SECRETS:
            return self._secret_file(f"{name}_FILE")
        return value

    def _secret_file(self, name: str) -> str | None:
        """The content of the file that a variable names, without the final line break."""
        file = self.reader.str(name, default=None)
        if file is None:
            return None
        try:
            return Path(file).read_text().rstrip("\r\n") or None
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(
                f"{name} names {file}, which cannot be read: {error}"
            ) from error

    def required(self, name: str, *, why: str) -> str:
        """The value; ImproperlyConfigured with `why` when it is unset."""
        value = self.optional(name)
        if value is None:
            raise ImproperlyConfigured(f"{name} is not set. {why}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        """A boolean: 1, true, yes, on; 0, false, no, off."""
        text = self.optional(name)
        if text is None:
            return default
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
        raise ImproperlyConfigured(f"{name} is {text!r}; it must be 1 or 0.")

    def words(self, name: str) -> list[str]:
        """A comma-separated list."""
        return [word.strip() for word in (self.optional(name) or "").split(",") if word.strip()]

    def isolation(self, *, production: bool) -> list[str]:
        """The isolation that every run requires; in production the one for acceptance runs."""
        words = self.words("TWOFOLD_REQUIRED_ISOLATION") or (["acceptance"] if production else [])
        return [] if words == ["none"] else words

    def path(self, name: str, default: Path) -> Path:
        """An absolute path."""
        return Path(self.optional(name) or default).expanduser().absolute()

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of `choices`; the first is the default."""
        value = self.optional(name) or choices[0]
        if value not in choices:
            raise ImproperlyConfigured(f"{name} is {value!r}; it must be {' or '.join(choices)}.")
        return value

    def hsts(self, *, production: bool) -> dict[str, Any]:
        """HTTP Strict Transport Security, in production only: 30 days, this host alone."""
        seconds = self.number("TWOFOLD_HSTS_SECONDS", default=HSTS_SECONDS)
        subdomains = self.flag("TWOFOLD_HSTS_SUBDOMAINS", default=False)
        preload = self.flag("TWOFOLD_HSTS_PRELOAD", default=False)
        if preload and not (subdomains and seconds >= HSTS_PRELOAD_SECONDS):
            raise ImproperlyConfigured(
                "TWOFOLD_HSTS_PRELOAD needs TWOFOLD_HSTS_SUBDOMAINS=1 and "
                f"TWOFOLD_HSTS_SECONDS={HSTS_PRELOAD_SECONDS} or more."
            )
        return {
            "SECURE_HSTS_SECONDS": seconds if production else 0,
            "SECURE_HSTS_INCLUDE_SUBDOMAINS": subdomains,
            "SECURE_HSTS_PRELOAD": preload,
        }

    def number(self, name: str, *, default: int) -> int:
        """A whole number."""
        text = self.optional(name)
        if text is None:
            return default
        if not text.isdecimal():
            raise ImproperlyConfigured(f"{name} is {text!r}; it must be a whole number.")
        return int(text)

    def secret_key(self, *, production: bool, home: Path) -> str:
        """Django's secret key; outside production generated once per checkout."""
        generate = f"Generate one with: {HOW_TO_GENERATE}"
        if not production:
            return self.optional("TWOFOLD_SECRET_KEY") or _generated_secret(home / "secret")
        key = self.required(
            "TWOFOLD_SECRET_KEY", why=f"It signs sessions and password links. {generate}"
        )
        lowered = key.lower()
        if len(key) < SECRET_LENGTH or len(set(key)) < 10:
            raise ImproperlyConfigured(
                f"TWOFOLD_SECRET_KEY is too weak: it needs {SECRET_LENGTH} random characters. "
                f"{generate}"
            )
        if any(placeholder in lowered for placeholder in PLACEHOLDERS):
            raise ImproperlyConfigured(f"TWOFOLD_SECRET_KEY looks like a placeholder. {generate}")
        return key

    def hosts(self, *, production: bool) -> list[str]:
        """The host names that the site accepts."""
        if not production:
            return self.words("TWOFOLD_HOSTS") or ["localhost", "127.0.0.1", "[::1]", "testserver"]
        why = "List the site's host names, separated by commas: TWOFOLD_HOSTS=twofold.example.org"
        self.required("TWOFOLD_HOSTS", why=why)
        hosts = self.words("TWOFOLD_HOSTS")
        if not hosts or any("*" in host or host.startswith(".") for host in hosts):
            raise ImproperlyConfigured(
                f"TWOFOLD_HOSTS contains a wildcard, so links in mails could be forged. {why}"
            )
        return hosts

    def database(self, *, production: bool) -> dict[str, Any] | None:
        """The configured database; None selects the embedded one."""
        if production:
            self.required(
                "DATABASE_URL",
                why="Production needs its own PostgreSQL: "
                "DATABASE_URL=postgresql://USER:PASSWORD@HOST:5432/NAME",
            )
        url = self.optional("DATABASE_URL")
        return database_of(url) if url else None

    def broker(self, *, production: bool) -> str | None:
        """The configured broker; None selects the embedded one."""
        if production:
            self.required(
                "BROKER_URL",
                why="Production needs its own Redis or Valkey: BROKER_URL=redis://HOST:6379/0",
            )
        return self.optional("BROKER_URL")

    def records(self, folder: Path) -> dict[str, Any]:
        """The storage of records and documents: a bucket if one is configured, else `folder`."""
        bucket = self.optional("TWOFOLD_RECORDS_BUCKET")
        if bucket is None:
            return {
                "BACKEND": "django.core.files.storage.FileSystemStorage",
                "OPTIONS": {"location": folder, "base_url": None},
            }
        why = "The bucket in TWOFOLD_RECORDS_BUCKET requires it."
        return {
            "BACKEND": "consultancy.bucket.Bucket",
            "OPTIONS": {
                "bucket_name": bucket,
                "endpoint_url": self.optional("TWOFOLD_RECORDS_ENDPOINT"),
                "region_name": self.optional("TWOFOLD_RECORDS_REGION"),
                "access_key": self.required("TWOFOLD_RECORDS_ACCESS_KEY", why=why),
                "secret_key": self.required("TWOFOLD_RECORDS_SECRET_KEY", why=why),
                "default_acl": None,
                "querystring_auth": True,
                # Records are immutable: a second file of the same name gets another name.
                "file_overwrite": False,
            },
        }

    def email(self, *, production: bool) -> dict[str, Any]:
        """Django's mail settings; in development mail is printed to the terminal."""
        if production:
            why = "Without it mail is lost: EMAIL_URL=smtp+tls://USER:PASSWORD@HOST:587"
            self.required("EMAIL_URL", why=why)
            self.required("TWOFOLD_FROM_EMAIL", why="Mails are sent from this address.")
        sender = self.optional("TWOFOLD_FROM_EMAIL") or "Twofold <twofold@localhost>"
        settings = {"DEFAULT_FROM_EMAIL": sender, "SERVER_EMAIL": sender, "EMAIL_TIMEOUT": 10}
        url = self.optional("EMAIL_URL") or "consolemail://"
        settings.update(self.reader.email_url_config(url))
        return settings


def _generated_secret(file: Path) -> str:
    """The secret of a development checkout, created on first use, readable by its owner only."""
    while True:
        try:
            return file.read_text().strip()
        except FileNotFoundError:
            file.parent.mkdir(parents=True, exist_ok=True)
        # Written to a draft and linked: of two concurrent processes one wins, and both read it.
        draft = file.with_name(f"secret.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(SECRET_LENGTH))
        try:
            os.link(draft, file)
        except FileExistsError:
            continue
        finally:
            draft.unlink()
