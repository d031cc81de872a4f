"""Requests to the outside alone: a URL that somebody typed reaches no network of ours.

The name is resolved once, every address is checked, and the connection goes to that address. So a
name that resolves to another address a moment later gains nothing. Redirects are not followed.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Final
from urllib.parse import urlsplit

import urllib3

from engagements.common.errors import ApplicationError

CONNECT_S: Final = 5.0
READ_S: Final = 10.0
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class NotPublic(ApplicationError):
    """A URL whose host is not on the public internet."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} is not a public address. Enter a host on the internet.",
            code="webhook.not_public",
        )


def check_url(url: str) -> None:
    """Refuse a URL that is not https, carries credentials, or names an address of an inside.

    The names of hosts are checked when a request is sent. Raises ApplicationError.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme != "https" or not host or parts.username or parts.password or port == 0:
        raise ApplicationError(
            "Enter a URL such as https://example.com/hooks, without a user name.",
            code="webhook.url",
        )
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
            raise NotPublic(host) from None
        return
    if not is_public(literal):
        raise NotPublic(host)


def post(url: str, *, body: bytes, headers: dict[str, str]) -> int:
    """POST to a public host and return the status. The answer's body is not read.

    Raises NotPublic, OSError or urllib3.exceptions.HTTPError.
    """
    check_url(url)
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or 443
    pool = urllib3.HTTPSConnectionPool(
        resolve(host, port),
        port,
        server_hostname=host,
        assert_hostname=host,
        timeout=urllib3.Timeout(connect=CONNECT_S, read=READ_S),
        retries=False,
        maxsize=1,
    )
    with pool:
        answer = pool.urlopen(
            "POST",
            (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
            body=body,
            headers={"Host": parts.netloc, **headers},
            redirect=False,
            preload_content=False,
        )
        answer.close()
        return int(answer.status)


def resolve(host: str, port: int) -> str:
    """Return an address of `host`. Raises NotPublic unless all of them are public."""
    found = {str(row[4][0]) for row in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    if not found or not all(is_public(ipaddress.ip_address(each)) for each in found):
        raise NotPublic(host)
    # IPv4 first: it is what most hosts can reach.
    return min(found, key=lambda each: (":" in each, each))


def is_public(address: Address) -> bool:
    """Whether an address is on the public internet, also the one that it embeds."""
    if isinstance(address, ipaddress.IPv6Address):
        embedded = address.ipv4_mapped or address.sixtofour
        # Python counts the deprecated site-local addresses as global.
        if address.teredo is not None or address.is_site_local:
            return False
        if address in _NAT64:
            embedded = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if embedded is not None:
            return is_public(embedded)
    return address.is_global and not address.is_multicast and not address.is_reserved
