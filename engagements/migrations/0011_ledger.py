"""The double-entry ledger: accounts, entries, legs, months and their totals."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import PROTECT, Q
from django.utils.timezone import now


class Migration(migrations.Migration):
    replaces: ClassVar = [("engagements", "0010_ledger")]

    dependencies: ClassVar = [("engagements", "0010_transfers")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Account",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("code", models.SlugField(max_length=32, unique=True)),
                ("name", models.CharField(max_length=80)),
                (
                    "kind",
                    models.CharField(
                        choices=[("asset", "Asset"), ("liability", "Liability"), ("revenue", "Revenue")], max_length=10
                    ),
                ),
                ("position", models.PositiveSmallIntegerField(unique=True)),
                ("datev_number", models.CharField(max_length=8, verbose_name="DATEV number")),
            ],
            options={
                "ordering": ["position"],
                "constraints": [
                    models.CheckConstraint(
                        name="account_datev_number_has_4_to_8_digits",
                        condition=Q(datev_number__regex="^[1-9][0-9]{3,7}$"),
                        violation_error_message="A DATEV account number has 4 to 8 digits.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("invoice_issued", "Invoice issued"),
                            ("credit_note_issued", "Credit note issued"),
                            ("payment_received", "Payment received"),
                            ("payment_moved", "Overpayment moved"),
                            ("payment_paid_back", "Overpayment sent back"),
                            ("payment_came_back", "Overpayment came back"),
                            ("overpayment_refund_paid", "Overpayment transferred"),
                            ("audit_delivered", "Audit delivered"),
                            ("audit_waived", "Audit owed no more"),
                            ("target_met", "Target met"),
                            ("settlement_proposed", "Settlement proposed"),
                            ("settlement_approved", "Settlement approved"),
                            ("settlement_paying", "Refund on its way"),
                            ("settlement_failed", "Refund came back"),
                            ("settlement_paid", "Refund paid"),
                            ("settlement_voided", "Settlement voided"),
                        ],
                        max_length=24,
                    ),
                ),
                ("dated_on", models.DateField()),
                ("key", models.CharField(max_length=80, unique=True)),
                ("leg_count", models.PositiveSmallIntegerField()),
                ("created_at", models.DateTimeField(default=now, editable=False)),
                (
                    "document",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=PROTECT, related_name="entries", to="engagements.document"
                    ),
                ),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="entries", to="engagements.engagement"),
                ),
            ],
            options={
                "verbose_name_plural": "entries",
                "ordering": ["-dated_on", "-pk"],
                "indexes": [
                    models.Index(fields=["dated_on", "id"], name="entry_by_day"),
                    models.Index(fields=["engagement", "dated_on", "id"], name="entry_of_engagement"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        name="entry_has_two_legs",
                        condition=Q(leg_count__gte=2),
                        violation_error_message="An entry has two legs or more.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Leg",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("dated_on", models.DateField()),
                ("amount", models.DecimalField(decimal_places=3, max_digits=14)),
                ("currency", models.CharField(max_length=3)),
                (
                    "account",
                    models.ForeignKey(db_index=False, on_delete=PROTECT, related_name="legs", to="engagements.account"),
                ),
                (
                    "engagement",
                    models.ForeignKey(db_index=False, on_delete=PROTECT, related_name="+", to="engagements.engagement"),
                ),
                (
                    "entry",
                    models.ForeignKey(db_index=False, on_delete=PROTECT, related_name="legs", to="engagements.entry"),
                ),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [
                    models.Index(fields=["entry"], name="leg_of_entry"),
                    models.Index(fields=["account", "currency", "dated_on", "id"], name="leg_of_account"),
                    models.Index(fields=["engagement", "account", "dated_on", "id"], name="leg_of_engagement"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        name="leg_is_not_nothing",
                        condition=~Q(amount=0),
                        violation_error_message="A leg is a debit or a credit, never nothing.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MonthTotal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("currency", models.CharField(max_length=3)),
                ("month", models.DateField(help_text="The first day of the month.")),
                ("debit", models.DecimalField(decimal_places=3, max_digits=20)),
                ("credit", models.DecimalField(decimal_places=3, max_digits=20)),
                ("leg_count", models.PositiveIntegerField()),
                (
                    "account",
                    models.ForeignKey(db_index=False, on_delete=PROTECT, related_name="+", to="engagements.account"),
                ),
                (
                    "engagement",
                    models.ForeignKey(db_index=False, on_delete=PROTECT, related_name="+", to="engagements.engagement"),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["month", "account", "currency"],
                        include=("debit", "credit", "leg_count"),
                        name="month_total_by_account",
                    ),
                    models.Index(fields=["account", "currency", "engagement"], name="month_total_of_account"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("engagement", "account", "currency", "month"), name="month_total_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Period",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("month", models.DateField(help_text="The first day of the month.", unique=True)),
                ("closed_at", models.DateTimeField(default=now, editable=False)),
                ("closed_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "ordering": ["-month"],
                "constraints": [
                    models.CheckConstraint(
                        name="period_is_a_month",
                        condition=Q(month__day=1),
                        violation_error_message="A period is a month, named by its first day.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PeriodTotal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("currency", models.CharField(max_length=3)),
                ("debit", models.DecimalField(decimal_places=3, max_digits=20)),
                ("credit", models.DecimalField(decimal_places=3, max_digits=20)),
                ("leg_count", models.PositiveIntegerField()),
                ("account", models.ForeignKey(on_delete=PROTECT, related_name="+", to="engagements.account")),
                ("period", models.ForeignKey(on_delete=PROTECT, related_name="totals", to="engagements.period")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("period", "account", "currency"), name="period_total_once")
                ]
            },
        ),
    ]
