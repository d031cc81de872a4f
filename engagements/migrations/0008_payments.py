"""Bank files, and the payments that they or people say came in."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import PROTECT, Q
from django.utils.timezone import now


class Migration(migrations.Migration):
    replaces: ClassVar = [("engagements", "0012_payments_for_invoices"), ("engagements", "0019_overpayments")]

    dependencies: ClassVar = [("engagements", "0007_invoices")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="BankImport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("format", models.CharField(choices=[("camt053", "CAMT.053"), ("csv", "CSV")], max_length=8)),
                ("filename", models.CharField(max_length=160)),
                ("content", models.BinaryField()),
                ("digest", models.CharField(max_length=71)),
                ("heading", models.CharField(blank=True, max_length=71)),
                ("layout", models.JSONField(blank=True, null=True)),
                ("repeated_count", models.PositiveIntegerField(blank=True, null=True)),
                ("passed_over_count", models.PositiveIntegerField(blank=True, null=True)),
                ("imported_at", models.DateTimeField(default=now, editable=False)),
                ("imported_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "ordering": ["-imported_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("digest",),
                        name="bank_import_once",
                        violation_error_message="This file is imported already.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BankLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("entry_key", models.CharField(max_length=71, unique=True)),
                ("entry_reference", models.CharField(max_length=80)),
                ("booked_on", models.DateField()),
                ("amount", models.DecimalField(decimal_places=3, max_digits=14)),
                ("currency", models.CharField(max_length=3)),
                ("payer", models.CharField(blank=True, max_length=160)),
                ("payer_account", models.CharField(blank=True, max_length=40)),
                ("text", models.TextField(blank=True)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("assigned", "Assigned"), ("set_aside", "Set aside")],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("note", models.TextField(blank=True)),
                ("handled_at", models.DateTimeField(blank=True, null=True)),
                (
                    "bank_import",
                    models.ForeignKey(on_delete=PROTECT, related_name="lines", to="engagements.bankimport"),
                ),
                (
                    "handled_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "ordering": ["bank_import", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("bank_import", "position"), name="bank_line_position_once"),
                    models.CheckConstraint(
                        name="bank_line_amount_is_positive",
                        condition=Q(amount__gt=0),
                        violation_error_message="Money that came in is more than nothing.",
                    ),
                    models.CheckConstraint(
                        name="bank_line_is_handled_by_somebody",
                        condition=Q(handled_at__isnull=True, handled_by__isnull=True, state="open")
                        | Q(handled_at__isnull=False, handled_by__isnull=False)
                        & (Q(state="assigned") | Q(state="set_aside") & ~Q(note="")),
                        violation_error_message="Whoever sets money aside says why.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Payment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("amount", models.DecimalField(decimal_places=3, max_digits=14)),
                ("received_on", models.DateField(help_text="Or the day on which it left the invoice.")),
                ("reference", models.CharField(help_text="As on the bank statement.", max_length=80)),
                ("recorded_at", models.DateTimeField(default=now, editable=False)),
                ("recorded_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "bank_line",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=PROTECT, related_name="payments", to="engagements.bankline"
                    ),
                ),
                ("invoice", models.ForeignKey(on_delete=PROTECT, related_name="payments", to="engagements.invoice")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("received", "Received"),
                            ("moved", "Moved"),
                            ("paid_back", "Paid back"),
                            ("came_back", "Came back"),
                        ],
                        default="received",
                        max_length=10,
                    ),
                ),
                (
                    "moved_from",
                    models.OneToOneField(
                        blank=True, null=True, on_delete=PROTECT, related_name="moved_to", to="engagements.payment"
                    ),
                ),
            ],
            options={
                "ordering": ["received_on", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("invoice", "reference"),
                        name="payment_is_recorded_once",
                        violation_error_message="A payment with this reference is recorded already.",
                    ),
                    models.CheckConstraint(
                        name="payment_amount_is_positive",
                        condition=~Q(kind="received") | Q(amount__gt=0),
                        violation_error_message="A payment is more than nothing.",
                    ),
                    models.CheckConstraint(
                        name="payment_of_the_bank_is_received",
                        condition=Q(kind="received") | Q(bank_line__isnull=True),
                        violation_error_message="What a bank file says came in was received.",
                    ),
                    models.CheckConstraint(
                        name="payment_leaves_or_arrives",
                        condition=Q(kind="received", moved_from__isnull=True)
                        | Q(amount__lt=0, kind="moved", moved_from__isnull=True)
                        | Q(amount__gt=0, kind="moved", moved_from__isnull=False)
                        | Q(amount__lt=0, kind="paid_back", moved_from__isnull=True)
                        | Q(amount__gt=0, kind="came_back", moved_from__isnull=False),
                        violation_error_message="What leaves an invoice is below nothing, what arrives says where it came from.",
                    ),
                ],
            },
        ),
    ]
