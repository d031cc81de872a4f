"""The consultancy's certificate for signing contracts.

In production TWOFOLD_CERTIFICATE_FILE or TWOFOLD_CERTIFICATE supplies it: a private RSA key, its
certificate and, if an authority issued it, the chain, all PEM. Elsewhere a self-signed one is
created on first use and kept in the home folder.
"""

from __future__ import annotations

import base64
import binascii
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

KEY_BITS = 3072
VALIDITY = timedelta(days=5 * 365)
REMEDY = (
    "Contracts need a certificate for document signing. Obtain one, or create one with "
    "manage.py certificate FILE."
)


@dataclass(frozen=True)
class Certificate:
    """The private key, its certificate and the certificates above it, lowest first."""

    key: rsa.RSAPrivateKey
    certificate: x509.Certificate
    chain: tuple[x509.Certificate, ...]


def own() -> Certificate:
    """Return the certificate of this installation; outside production, create a missing one.

    ImproperlyConfigured when production has none or the configured one is unusable.
    """
    if settings.TWOFOLD_CERTIFICATE:
        return _read(_decoded(settings.TWOFOLD_CERTIFICATE), "TWOFOLD_CERTIFICATE")
    if settings.TWOFOLD_CERTIFICATE_FILE:
        return of_file(Path(settings.TWOFOLD_CERTIFICATE_FILE))
    if settings.PRODUCTION:
        raise ImproperlyConfigured(f"TWOFOLD_CERTIFICATE_FILE is not set. {REMEDY}")
    file = Path(settings.TWOFOLD_HOME) / "certificate.pem"
    if not file.exists():
        make(file)
    return of_file(file)


def make(file: Path) -> None:
    """Create a key and a self-signed certificate, readable by the owner of `file` only.

    Never overwrites: of two concurrent calls one wins.
    """
    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    certificate = _self_signed(key, datetime.now(UTC))
    text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ) + certificate.public_bytes(serialization.Encoding.PEM)
    file.parent.mkdir(parents=True, exist_ok=True)
    # Written beside its place and linked, so that no reader sees half a file.
    draft = file.with_name(f"{file.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    try:
        draft.write_bytes(text)
        os.link(draft, file)
    except FileExistsError:
        return
    finally:
        draft.unlink()


def _self_signed(key: rsa.RSAPrivateKey, now: datetime) -> x509.Certificate:
    house = settings.CONSULTANCY
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, house["name"][:64]),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, house["name"][:64]),
            x509.NameAttribute(NameOID.COUNTRY_NAME, house["country"]),
        ]
    )
    # For signatures that commit to a text only.
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=True,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    builder = x509.CertificateBuilder(subject_name=name, issuer_name=name)
    builder = builder.public_key(key.public_key()).serial_number(x509.random_serial_number())
    # A contract accepted just before is signed as of that moment.
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + VALIDITY)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
    return builder.add_extension(usage, True).sign(key, hashes.SHA256())


def of_file(file: Path) -> Certificate:
    """Read a certificate and its private key."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ImproperlyConfigured(f"{file} cannot be read: {error.strerror}. {REMEDY}") from error
    return _read(content, str(file))


@cache
def _read(content: bytes, where: str) -> Certificate:
    try:
        key = serialization.load_pem_private_key(content, password=None)
        certificates = x509.load_pem_x509_certificates(content)
    except (ValueError, TypeError) as error:
        raise ImproperlyConfigured(
            f"{where} is not a PEM file with a private key and its certificate: {error} {REMEDY}"
        ) from error
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ImproperlyConfigured(f"{where}: the private key must be an RSA key.")
    own = [each for each in certificates if each.public_key() == key.public_key()]
    if not own:
        raise ImproperlyConfigured(f"{where}: no certificate matches the private key.")
    ends_at = own[0].not_valid_after_utc
    if ends_at < datetime.now(UTC):
        raise ImproperlyConfigured(f"{where}: the certificate expired on {ends_at:%Y-%m-%d}.")
    return Certificate(key, own[0], tuple(each for each in certificates if each not in own))


def _decoded(text: str) -> bytes:
    """Decode PEM given as is or in base64, which fits one line of an environment file."""
    if "-----BEGIN" in text:
        return text.encode()
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ImproperlyConfigured(
            "TWOFOLD_CERTIFICATE is neither PEM nor PEM in base64."
        ) from error
