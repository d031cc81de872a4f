"""Who uses the site: users, customers, their contacts and memberships.

This migration and the sixteen after it stand for 31 older ones, 0001_initial to
0031_invoice_balances, whose names they say under `replaces`: a database that has all of those has
nothing to do. First and alone, because the
migrations of other apps that need users are applied next, and are slow where there are more tables.
"""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import PROTECT, F, Q
from django.db.models.functions import Lower
from django.utils.timezone import now


class Migration(migrations.Migration):
    initial = True

    replaces: ClassVar = [("engagements", "0001_initial"), ("engagements", "0029_ended_sign_ins")]

    dependencies: ClassVar = [("auth", "0012_alter_user_first_name_max_length")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                ("email", models.EmailField(max_length=254, unique=True)),
                ("name", models.CharField(max_length=120)),
                (
                    "role",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "No role"),
                            ("consultant", "Consultant"),
                            ("finance", "Finance"),
                            ("admin", "Admin"),
                        ],
                        default="",
                        max_length=12,
                    ),
                ),
                ("is_active", models.BooleanField(default=True)),
                ("is_staff", models.BooleanField(default=False, help_text="May open the admin site.")),
                ("date_joined", models.DateTimeField(default=now, editable=False)),
                ("access_changes", models.PositiveIntegerField(default=0, editable=False)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(Lower("email"), name="user_email_ignores_case"),
                    models.CheckConstraint(
                        name="user_staff_are_admins",
                        condition=Q(is_staff=False) | Q(role="admin"),
                        violation_error_message="Only admins may open the admin site.",
                    ),
                ]
            },
        ),
        migrations.CreateModel(
            name="Customer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=160, unique=True)),
                ("address", models.TextField()),
                ("country", models.CharField(help_text="ISO 3166-1 code, as in DE.", max_length=2)),
                ("vat_id", models.CharField(blank=True, max_length=20, verbose_name="VAT id")),
                ("currency", models.CharField(default="EUR", max_length=3)),
                ("created_at", models.DateTimeField(default=now, editable=False)),
                (
                    "buyer_reference",
                    models.CharField(
                        blank=True, help_text="What the customer wants to read on its invoices.", max_length=60
                    ),
                ),
                (
                    "invoice_email",
                    models.EmailField(
                        blank=True,
                        help_text="Else they go to the signatories.",
                        max_length=254,
                        verbose_name="address for invoices",
                    ),
                ),
                (
                    "locale",
                    models.CharField(
                        choices=[("en_GB", "31 March 2026"), ("en_US", "March 31, 2026")],
                        default="en_GB",
                        help_text="How dates and amounts are written on its invoices.",
                        max_length=5,
                    ),
                ),
                (
                    "wants_e_invoice",
                    models.BooleanField(
                        default=False,
                        help_text="Customers in the EU get them anyway.",
                        verbose_name="asks for e-invoices",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        name="customer_currency_is_iso_4217",
                        condition=Q(currency__regex="^[A-Z]{3}$"),
                        violation_error_message="A currency is three capital letters, as in EUR.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Contact",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=120)),
                ("email", models.EmailField(max_length=254)),
                ("position", models.CharField(blank=True, max_length=120)),
                (
                    "user",
                    models.OneToOneField(
                        blank=True, null=True, on_delete=PROTECT, related_name="contact", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("customer", models.ForeignKey(on_delete=PROTECT, related_name="contacts", to="engagements.customer")),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        F("customer"),
                        Lower("email"),
                        name="contact_once_a_customer",
                        violation_error_message="This customer has a contact with this address already.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "rights",
                    models.CharField(
                        choices=[("viewer", "Viewer"), ("signatory", "Signatory")], default="viewer", max_length=10
                    ),
                ),
                (
                    "customer",
                    models.ForeignKey(on_delete=PROTECT, related_name="memberships", to="engagements.customer"),
                ),
                ("user", models.ForeignKey(on_delete=PROTECT, related_name="memberships", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("customer", "user"), name="membership_once_a_customer")]
            },
        ),
        migrations.CreateModel(
            name="PasswordMail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("address", models.EmailField(max_length=320, unique=True)),
                ("origin", models.CharField(max_length=300)),
                ("asked_at", models.DateTimeField(default=now, editable=False)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
            ],
        ),
    ]
