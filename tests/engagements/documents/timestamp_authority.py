"""A local time-stamp authority (RFC 3161)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

from asn1crypto import keys, tsp
from asn1crypto import x509 as asn1
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from pyhanko.sign.timestamps import DummyTimeStamper


@contextmanager
def authority(at: datetime) -> Iterator[tuple[str, asn1.Certificate]]:
    """Serve time stamps for the time `at`; yields the address and the certificate."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    certificate = _certificate(key)
    private = key.private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    stamper = DummyTimeStamper(certificate, keys.PrivateKeyInfo.load(private), fixed_dt=at)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = tsp.TimeStampReq.load(self.rfile.read(length))
            answer = stamper.request_tsa_response(request).dump()
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Write nothing to the tests' output."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", certificate
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _certificate(key: rsa.RSAPrivateKey) -> asn1.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test Time Stamps")])
    now = datetime.now(UTC)
    stamping = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
    builder = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=4000))
        .not_valid_after(now + timedelta(days=4000))
        .add_extension(stamping, critical=True)
    )
    made = builder.sign(key, hashes.SHA256())
    return asn1.Certificate.load(made.public_bytes(serialization.Encoding.DER))
