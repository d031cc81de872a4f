"""Users, customers, contacts and memberships."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from babel import Locale
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

from engagements.common import vat_ids
from engagements.common.money import UnknownCurrency, minor_digits
from engagements.common.text import strip_invisible
from engagements.people.triggers import (
    COUNT_ACCESS_CHANGES,
    COUNT_MEMBERSHIP_CHANGES,
    GRANT_FINANCE_BY_TWO,
)

# CLDR lists these beside the countries of ISO 3166-1; no postal address is in them.
_NOT_COUNTRIES = frozenset({"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"})
_NAMES = Locale("en").territories
COUNTRIES = (
    frozenset(code for code in map(str, Locale("en").territories) if len(code) == 2)
    - _NOT_COUNTRIES
)


# For a list to choose from: a name that is typed becomes another country by its first letters.
COUNTRY_CHOICES = sorted(((code, str(_NAMES[code])) for code in COUNTRIES), key=lambda row: row[1])


class Role(models.TextChoices):
    """The role of a staff member. A customer's user has none."""

    NONE = "", "No role"
    CONSULTANT = "consultant", "Consultant"
    FINANCE = "finance", "Finance"
    ADMIN = "admin", "Admin"


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        if not email:
            raise ValueError("A user needs an email address.")
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:
        fields = {"role": Role.ADMIN, "is_staff": True, "is_superuser": True, **fields}
        return self.create_user(email, password, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    """A person who may sign in, identified by email address."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120)
    role = models.CharField(max_length=12, choices=Role, default=Role.NONE, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False, help_text="May open the admin site.")
    is_service = models.BooleanField(
        default=False, editable=False, help_text="A program's account: it has tokens, no password."
    )
    date_joined = models.DateTimeField(default=timezone.now, editable=False)
    # Changes of address, role, membership or activity; counted by the database.
    access_changes = models.PositiveIntegerField(default=0, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = ["name"]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(Lower("email"), name="user_email_ignores_case"),
            models.CheckConstraint(
                condition=Q(is_staff=False) | Q(role="admin"),
                name="user_staff_are_admins",
                violation_error_message="Only admins may open the admin site.",
            ),
            models.CheckConstraint(
                condition=Q(is_service=False)
                # Passwords that begin with ! match none.
                | Q(("password__startswith", "!"), is_staff=False, role__in=["", "consultant"]),
                name="user_services_neither_sign_in_nor_move_money",
                violation_error_message="A service account has no password, and no role of "
                "finance or admin.",
            ),
        ]
        triggers: ClassVar = [
            COUNT_ACCESS_CHANGES,
            GRANT_FINANCE_BY_TWO,
        ]

    def __str__(self) -> str:
        return self.name or self.email

    def clean(self) -> None:
        """Strip invisible characters: the name is shown in the event log and in mails."""
        super().clean()
        self.name = strip_invisible(self.name)

    def get_session_auth_hash(self) -> str:
        """Hash the password with `access_changes`: sessions and tokens end when either changes."""
        return self._with_access_changes(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return map(self._with_access_changes, super().get_session_auth_fallback_hash())

    def _with_access_changes(self, proof: str) -> str:
        return f"{proof}.{self.access_changes}"

    def get_full_name(self) -> str:
        return self.name

    @property
    def is_staff_member(self) -> bool:
        return self.role != Role.NONE


class Customer(models.Model):
    """A client company. `currency` is the default for its contracts."""

    name = models.CharField(max_length=160, unique=True)
    address = models.TextField()
    country = models.CharField(max_length=2, help_text="ISO 3166-1 code, as in DE.")
    vat_id = models.CharField("VAT ID", max_length=20, blank=True)
    currency = models.CharField(max_length=3, default="EUR")
    invoice_email = models.EmailField(
        "address for invoices",
        blank=True,
        help_text="Without one, invoices are mailed to the signatories.",
    )
    buyer_reference = models.CharField(
        max_length=60,
        blank=True,
        help_text="Printed on its invoices, such as a Leitweg-ID. Order numbers are entered on the "
        "invoice.",
    )
    wants_e_invoice = models.BooleanField(
        "wants e-invoices", default=False, help_text="Customers in the EU always get them."
    )
    locale = models.CharField(
        max_length=5,
        choices=[("en_GB", "31 March 2026"), ("en_US", "March 31, 2026")],
        default="en_GB",
        help_text="Format of dates and amounts on its invoices.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(currency__regex=r"^[A-Z]{3}$"),
                name="customer_currency_is_iso_4217",
                violation_error_message="Enter a currency code, such as EUR.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Normalise texts and check the codes of country, currency and VAT ID."""
        for name in ("name", "address", "vat_id", "buyer_reference"):
            setattr(self, name, strip_invisible(getattr(self, name)))
        for name in ("name", "address"):
            if not getattr(self, name):
                raise ValidationError({name: "Enter visible characters."})
        self.country, self.currency = self.country.upper(), self.currency.upper()
        self.vat_id = "".join(self.vat_id.split()).upper()
        if self.vat_id and not vat_ids.is_valid(self.vat_id):
            raise ValidationError(
                {"vat_id": "Enter a valid VAT ID with its country code, as in DE136695976."}
            )
        if self.country not in COUNTRIES:
            raise ValidationError({"country": "Choose a country."})
        try:
            minor_digits(self.currency)
        except UnknownCurrency as error:
            raise ValidationError({"currency": str(error)}) from error


class Contact(models.Model):
    """A contact person at a customer; one with a user may sign in."""

    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="contacts")
    user = models.OneToOneField(
        User, on_delete=models.PROTECT, null=True, blank=True, related_name="contact"
    )
    name = models.CharField(max_length=120)
    email = models.EmailField()
    position = models.CharField(max_length=120, blank=True)

    class Meta:
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                "customer",
                Lower("email"),
                name="contact_once_a_customer",
                violation_error_message="This customer already has a contact with this address.",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's rights at a customer: viewers read, signatories also sign."""

    class Rights(models.TextChoices):
        VIEWER = "viewer", "Viewer"
        SIGNATORY = "signatory", "Signatory"

    customer = models.ForeignKey(Customer, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    rights = models.CharField(max_length=10, choices=Rights, default=Rights.VIEWER)
    is_independent = models.BooleanField(
        default=True,
        editable=False,
        help_text="Appointed before a contract of the customer was in force, or by such a "
        "signatory: nobody whom one of us could have made up to set a refund account.",
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["customer", "user"], name="membership_once_a_customer"),
        ]
        triggers: ClassVar = [
            COUNT_MEMBERSHIP_CHANGES,
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.customer}: {self.rights}"
