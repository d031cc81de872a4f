"""`python -m consultancy.probe`: the container's health check, without curl.

Exits 0 when /healthz returns 200 on this machine.
"""

import http.client
import os
import sys


def main() -> int:
    """Request /healthz as the proxy would: with an allowed host name, as HTTPS."""
    host = os.environ.get("TWOFOLD_HOSTS", "localhost").split(",")[0].strip()
    connection = http.client.HTTPConnection("127.0.0.1", 8000, timeout=4)
    try:
        connection.request("GET", "/healthz", headers={"Host": host, "X-Forwarded-Proto": "https"})
        return 0 if connection.getresponse().status == 200 else 1
    except OSError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
