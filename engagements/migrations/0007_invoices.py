"""Invoices with their numbers, lines and reminders."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, PROTECT, F, Q
from django.utils.timezone import now


class Migration(migrations.Migration):
    replaces: ClassVar = [("engagements", "0005_invoices"), ("engagements", "0018_reminders_are_mails")]

    dependencies: ClassVar = [("engagements", "0006_documents")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Counter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("series", models.CharField(max_length=12)),
                ("year", models.PositiveSmallIntegerField()),
                ("last", models.PositiveIntegerField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("series", "year"), name="counter_once_a_series_and_year")
                ]
            },
        ),
        migrations.CreateModel(
            name="Invoice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("invoice", "Invoice"), ("credit_note", "Credit note")],
                        default="invoice",
                        max_length=12,
                    ),
                ),
                (
                    "state",
                    models.CharField(choices=[("draft", "Draft"), ("issued", "Issued")], default="draft", max_length=8),
                ),
                ("currency", models.CharField(max_length=3)),
                ("net", models.DecimalField(decimal_places=3, max_digits=14)),
                ("tax", models.DecimalField(decimal_places=3, max_digits=14)),
                ("gross", models.DecimalField(decimal_places=3, max_digits=14)),
                ("series", models.CharField(blank=True, max_length=12)),
                ("year", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("number", models.PositiveIntegerField(blank=True, null=True)),
                ("reference", models.CharField(blank=True, help_text="As in INV-2026-0001.", max_length=60)),
                ("issued_on", models.DateField(blank=True, null=True)),
                ("due_on", models.DateField(blank=True, null=True)),
                ("issued_at", models.DateTimeField(blank=True, null=True)),
                ("drafted_at", models.DateTimeField(default=now, editable=False)),
                ("reason", models.TextField(blank=True)),
                ("frozen", models.JSONField(blank=True, null=True)),
                (
                    "contract_version",
                    models.ForeignKey(on_delete=PROTECT, related_name="invoices", to="engagements.contractversion"),
                ),
                (
                    "corrects",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=PROTECT, related_name="credit_notes", to="engagements.invoice"
                    ),
                ),
                ("customer", models.ForeignKey(on_delete=PROTECT, related_name="invoices", to="engagements.customer")),
                (
                    "drafted_by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="invoices", to="engagements.engagement"),
                ),
                (
                    "issued_by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-issued_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("series", "year", "number"),
                        name="invoice_number_once",
                        violation_error_message="This number is given already.",
                    ),
                    models.UniqueConstraint(
                        fields=("reference",),
                        name="invoice_reference_once",
                        condition=~Q(reference=""),
                        violation_error_message="This number is given already.",
                    ),
                    models.CheckConstraint(
                        name="invoice_adds_up",
                        condition=Q(gross=F("net") + F("tax"), net__gt=0, tax__gte=0),
                        violation_error_message="An invoice comes to more than nothing, and adds up.",
                    ),
                    models.CheckConstraint(
                        name="invoice_is_numbered_when_it_is_issued",
                        condition=Q(
                            due_on__isnull=True,
                            frozen__isnull=True,
                            issued_at__isnull=True,
                            issued_by__isnull=True,
                            issued_on__isnull=True,
                            number__isnull=True,
                            reference="",
                            series="",
                            state="draft",
                            year__isnull=True,
                        )
                        | Q(
                            frozen__isnull=False,
                            issued_at__isnull=False,
                            issued_on__year=F("year"),
                            number__gt=0,
                            state="issued",
                            year__isnull=False,
                        )
                        & ~Q(series="")
                        & ~Q(reference=""),
                        violation_error_message="An invoice is numbered and dated when it is issued.",
                    ),
                    models.CheckConstraint(
                        name="credit_note_corrects_an_invoice",
                        condition=Q(corrects__isnull=True, kind="invoice", reason="")
                        | Q(corrects__isnull=False, kind="credit_note") & ~Q(reason=""),
                        violation_error_message="A credit note says which invoice it corrects, and why.",
                    ),
                    models.CheckConstraint(
                        name="invoice_is_due_after_it_is_issued",
                        condition=Q(state="draft")
                        | Q(due_on__isnull=True, kind="credit_note")
                        | Q(due_on__gte=F("issued_on"), kind="invoice"),
                        violation_error_message="An invoice is due on its own day or later.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="InvoiceLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("title", models.CharField(max_length=160)),
                ("net", models.DecimalField(decimal_places=3, max_digits=14)),
                ("tax_rate_percent", models.DecimalField(decimal_places=2, max_digits=5)),
                ("tax", models.DecimalField(decimal_places=3, max_digits=14)),
                (
                    "corrects",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=PROTECT,
                        related_name="credit_lines",
                        to="engagements.invoiceline",
                    ),
                ),
                ("invoice", models.ForeignKey(on_delete=CASCADE, related_name="lines", to="engagements.invoice")),
                (
                    "milestone",
                    models.ForeignKey(on_delete=PROTECT, related_name="invoice_lines", to="engagements.milestone"),
                ),
            ],
            options={
                "ordering": ["invoice", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("invoice", "position"), name="invoice_line_position_once"),
                    models.UniqueConstraint(
                        fields=("invoice", "milestone"),
                        name="invoice_line_milestone_once",
                        violation_error_message="A milestone stands on an invoice once.",
                    ),
                    models.CheckConstraint(
                        name="invoice_line_is_positive",
                        condition=Q(net__gt=0, tax__gte=0),
                        violation_error_message="A line comes to more than nothing.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Reminder",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("level", models.PositiveSmallIntegerField()),
                ("open_amount", models.DecimalField(decimal_places=3, max_digits=14)),
                ("created_at", models.DateTimeField(default=now, editable=False)),
                ("invoice", models.ForeignKey(on_delete=PROTECT, related_name="reminders", to="engagements.invoice")),
            ],
            options={
                "ordering": ["invoice", "level"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("invoice", "level"),
                        name="reminder_level_once",
                        violation_error_message="This reminder is written already.",
                    ),
                    models.CheckConstraint(
                        name="reminder_is_about_something_open",
                        condition=Q(level__gt=0, open_amount__gt=0),
                        violation_error_message="Only what is open is reminded of.",
                    ),
                ],
            },
        ),
    ]
