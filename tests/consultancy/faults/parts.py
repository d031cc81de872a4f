"""The parts that a site depends on, each real and behind a proxy: away, slow, silent or full."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import psycopg
import redis
from aiosmtpd.controller import Controller
from django.utils import timezone

from consultancy.embedded.place import Place
from consultancy.embedded.valkey import Valkey
from tests.consultancy.faults.proxy import Proxy, to_port, to_socket
from tests.engagements.documents import timestamp_authority

BUCKET = "records"
SLOW_S = 0.1
# What an S3 store and a time-stamp authority answer when their disk is full.
STORAGE_FULL = (
    b"HTTP/1.1 507 Insufficient Storage\r\nContent-Type: application/xml\r\n"
    b"Content-Length: 113\r\nConnection: close\r\n\r\n"
    b"<Error><Code>XMinioStorageFull</Code><Message>Storage backend has reached its minimum "
    b"free drive threshold.</Message></Error>"
)
AUTHORITY_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


@dataclass
class Part:
    """One part behind its proxy. `fill` makes it refuse writes and `empty` ends that."""

    proxy: Proxy
    fill: Callable[[], None]
    empty: Callable[[], None]

    def fail(self, how: str) -> None:
        """Fail from now on: away, silent, slow or full."""
        if how == "away":
            self.proxy.away()
        elif how == "silent":
            self.proxy.silent()
        elif how == "slow":
            self.proxy.delay_s = SLOW_S
        elif how == "full":
            self.fill()
        else:
            raise ValueError(how)

    def back(self) -> None:
        """Work again."""
        self.empty()
        self.proxy.back()


@dataclass
class Mailbox:
    """A mail server's handler; keeps what it accepted."""

    full: bool = False
    accepted: list[Message] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802  aiosmtpd calls it so
        """Accept a message, unless the disk is full."""
        if self.full:
            return "452 4.3.1 Insufficient system storage"
        self.accepted.append(message_from_bytes(envelope.content))
        return "250 OK"

    def ids(self) -> list[str]:
        """The Message-ID of every accepted message, in order."""
        return [str(message["Message-ID"]) for message in self.accepted]


@dataclass
class Parts:
    """Database, broker, bucket, mail server and time-stamp authority."""

    by_name: dict[str, Part]
    mailbox: Mailbox
    broker_url: str
    bucket_url: str
    environment: dict[str, str]

    def __getitem__(self, name: str) -> Part:
        return self.by_name[name]

    def all_back(self) -> None:
        """End every fault."""
        for part in self.by_name.values():
            part.back()


@contextmanager
def serving(folder: Path, database: dict[str, Any]) -> Iterator[Parts]:
    """Start every part; `database` are Django's settings of the test's database."""
    with ExitStack() as stack:
        parts = {"database": _database(database)}
        broker = Valkey(Place(folder / "broker"))
        broker.start()
        stack.callback(broker.stop)
        parts["broker"] = _broker(broker)
        bucket_url = stack.enter_context(_s3())
        proxy = Proxy(to_port(int(bucket_url.rpartition(":")[2])))
        parts["bucket"] = _refusing(proxy, STORAGE_FULL)
        mailbox = Mailbox()
        parts["mail"] = stack.enter_context(_mail(mailbox))
        authority, _ = stack.enter_context(timestamp_authority.authority(timezone.now()))
        port = int(authority.rstrip("/").rpartition(":")[2])
        parts["authority"] = _refusing(Proxy(to_port(port)), AUTHORITY_FULL)
        for part in parts.values():
            stack.callback(part.proxy.away)
        ports = {name: f"127.0.0.1:{part.proxy.port}" for name, part in parts.items()}
        yield Parts(
            parts,
            mailbox,
            broker.url,
            bucket_url,
            {
                "DATABASE_URL": f"postgresql://{database['USER']}@{ports['database']}"
                f"/{database['NAME']}",
                "BROKER_URL": f"redis://{ports['broker']}/0",
                "EMAIL_URL": f"smtp://{ports['mail']}",
                "TWOFOLD_TIMESTAMP_URL": f"http://{ports['authority']}/",
                **bucket_variables(f"http://{ports['bucket']}"),
            },
        )


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    return number


def bucket_variables(endpoint: str) -> dict[str, str]:
    """The variables of a site whose bucket is at `endpoint`."""
    return {
        "TWOFOLD_RECORDS_BUCKET": BUCKET,
        "TWOFOLD_RECORDS_ENDPOINT": endpoint,
        "TWOFOLD_RECORDS_REGION": "us-east-1",
        "TWOFOLD_RECORDS_ACCESS_KEY": "test",
        "TWOFOLD_RECORDS_SECRET_KEY": "test",
    }


def _refusing(proxy: Proxy, answer: bytes) -> Part:
    def fill() -> None:
        proxy.refusal = answer
        # Also for connections that are kept open.
        proxy.cut()

    return Part(proxy, fill, lambda: None)


def _database(settings: dict[str, Any]) -> Part:
    """A full database becomes read-only, as hosted ones do."""
    path = f"{settings['HOST']}/.s.PGSQL.{settings['PORT'] or 5432}"
    proxy, name = Proxy(to_socket(path)), settings["NAME"]

    def alter(change: str) -> None:
        url = f"host={settings['HOST']} user={settings['USER']} dbname=postgres"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{name}" {change}')
        proxy.cut()

    return Part(
        proxy,
        lambda: alter("SET default_transaction_read_only = on"),
        lambda: alter("RESET default_transaction_read_only"),
    )


def _broker(server: Valkey) -> Part:
    def limit(maxmemory: int) -> None:
        with redis.Redis(unix_socket_path=str(server.socket)) as client:
            client.config_set("maxmemory", maxmemory)

    return Part(Proxy(to_socket(str(server.socket))), lambda: limit(1), lambda: limit(0))


@contextmanager
def _mail(mailbox: Mailbox) -> Iterator[Part]:
    port = free_port()
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield Part(
            Proxy(to_port(port)),
            lambda: setattr(mailbox, "full", True),
            lambda: setattr(mailbox, "full", False),
        )
    finally:
        controller.stop()


@contextmanager
def _s3() -> Iterator[str]:
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        url = f"http://{host}:{port}"
        client = boto3.client(
            "s3",
            endpoint_url=url,
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name="us-east-1",
        )
        client.create_bucket(Bucket=BUCKET)
        yield url
    finally:
        server.stop()
