"""How money goes back: accounts, files for the bank, transfers."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import PROTECT, F, Q
from django.utils.timezone import now


class Migration(migrations.Migration):
    replaces: ClassVar = [("engagements", "0023_pay_backs")]

    dependencies: ClassVar = [("engagements", "0009_settlements")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="BankAccount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("holder", models.CharField(max_length=70, verbose_name="account holder")),
                ("iban", models.CharField(max_length=34, verbose_name="IBAN")),
                ("bic", models.CharField(blank=True, max_length=11, verbose_name="BIC")),
                ("added_at", models.DateTimeField(default=now, editable=False)),
                ("added_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "customer",
                    models.ForeignKey(on_delete=PROTECT, related_name="bank_accounts", to="engagements.customer"),
                ),
            ],
            options={
                "ordering": ["-added_at", "-pk"],
                "constraints": [
                    models.CheckConstraint(
                        name="bank_account_has_an_iban",
                        condition=Q(iban__regex="^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$"),
                        violation_error_message="An IBAN is a country, two check digits and an account.",
                    ),
                    models.CheckConstraint(
                        name="bank_account_has_a_bic_or_none",
                        condition=Q(bic="") | Q(bic__regex="^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$"),
                        violation_error_message="A BIC has 8 or 11 characters.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TransferFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("message_id", models.CharField(max_length=35, unique=True)),
                ("currency", models.CharField(max_length=3)),
                ("total", models.DecimalField(decimal_places=3, max_digits=14)),
                ("content", models.BinaryField()),
                ("digest", models.CharField(max_length=71)),
                ("made_at", models.DateTimeField(default=now, editable=False)),
                ("made_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={"ordering": ["-made_at", "-pk"]},
        ),
        migrations.CreateModel(
            name="Transfer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("attempt", models.PositiveSmallIntegerField()),
                ("method", models.CharField(choices=[("sepa", "SEPA file"), ("by_hand", "By hand")], max_length=8)),
                ("amount", models.DecimalField(decimal_places=3, max_digits=14)),
                ("currency", models.CharField(max_length=3)),
                ("payee", models.CharField(blank=True, max_length=70)),
                ("iban", models.CharField(blank=True, max_length=34, verbose_name="IBAN")),
                ("bic", models.CharField(blank=True, max_length=11, verbose_name="BIC")),
                ("end_to_end_id", models.CharField(max_length=35, unique=True)),
                ("started_at", models.DateTimeField(default=now, editable=False)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[("", "Under way"), ("paid", "Paid"), ("failed", "Failed")],
                        default="",
                        max_length=8,
                    ),
                ),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("reference", models.CharField(blank=True, max_length=80)),
                ("failure_reason", models.TextField(blank=True)),
                (
                    "settlement",
                    models.ForeignKey(on_delete=PROTECT, related_name="transfers", to="engagements.settlement"),
                ),
                ("started_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "file",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=PROTECT,
                        related_name="transfers",
                        to="engagements.transferfile",
                    ),
                ),
            ],
            options={
                "ordering": ["settlement", "-attempt"],
                "constraints": [
                    models.UniqueConstraint(fields=("settlement", "attempt"), name="transfer_attempt_once"),
                    models.UniqueConstraint(
                        fields=("settlement",),
                        name="transfer_one_that_has_not_failed",
                        condition=~Q(outcome="failed"),
                        violation_error_message="This settlement is being paid already.",
                    ),
                    models.CheckConstraint(
                        name="transfer_by_file_names_its_payee",
                        condition=Q(file__isnull=True, method="by_hand")
                        | Q(file__isnull=False, method="sepa") & ~Q(iban="") & ~Q(payee=""),
                        violation_error_message="A transfer by file names its file and its payee.",
                    ),
                    models.CheckConstraint(
                        name="transfer_ends_with_a_reference_or_a_reason",
                        condition=Q(ended_at__isnull=True, failure_reason="", outcome="", reference="")
                        | Q(ended_at__isnull=False, failure_reason="", outcome="paid") & ~Q(reference="")
                        | Q(ended_at__isnull=False, outcome="failed") & ~Q(failure_reason=""),
                        violation_error_message="A transfer ends with a reference, or with a reason.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="OverpaymentRefund",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("amount", models.DecimalField(decimal_places=3, max_digits=14)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "Proposed"),
                            ("paying", "On its way"),
                            ("paid", "Paid"),
                            ("failed", "Transfer failed"),
                            ("voided", "Voided"),
                        ],
                        default="proposed",
                        max_length=8,
                    ),
                ),
                ("proposed_at", models.DateTimeField(default=now, editable=False)),
                ("sent_at", models.DateTimeField(blank=True, null=True)),
                (
                    "method",
                    models.CharField(blank=True, choices=[("sepa", "SEPA file"), ("by_hand", "By hand")], max_length=8),
                ),
                ("payee", models.CharField(blank=True, max_length=70)),
                ("iban", models.CharField(blank=True, max_length=34, verbose_name="IBAN")),
                ("bic", models.CharField(blank=True, max_length=11, verbose_name="BIC")),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("reference", models.CharField(blank=True, max_length=80)),
                ("end_reason", models.TextField(blank=True, help_text="Why it failed, or was voided.")),
                (
                    "ended_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                (
                    "file",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=PROTECT,
                        related_name="overpayment_refunds",
                        to="engagements.transferfile",
                    ),
                ),
                ("invoice", models.ForeignKey(on_delete=PROTECT, related_name="overpayment_refunds", to="engagements.invoice")),
                (
                    "left",
                    models.OneToOneField(
                        null=True, on_delete=PROTECT, related_name="overpayment_refund", to="engagements.payment"
                    ),
                ),
                ("proposed_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "sent_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "db_table": "engagements_payback",
                "ordering": ["-proposed_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("invoice",),
                        name="overpayment_refund_one_open_an_invoice",
                        condition=Q(state__in=["proposed", "paying"]),
                        violation_error_message="What is too much of this invoice is being paid back.",
                    ),
                    models.CheckConstraint(
                        name="overpayment_refund_is_more_than_nothing",
                        condition=Q(amount__gt=0),
                        violation_error_message="What goes back is more than nothing.",
                    ),
                    models.CheckConstraint(
                        name="overpayment_refund_is_sent_by_another",
                        condition=Q(sent_by__isnull=True) | ~Q(sent_by=F("proposed_by")),
                        violation_error_message="Nobody sends what they proposed to pay back themselves.",
                    ),
                    models.CheckConstraint(
                        name="overpayment_refund_leaves_when_it_is_sent",
                        condition=Q(
                            left__isnull=True,
                            method="",
                            sent_at__isnull=True,
                            sent_by__isnull=True,
                            state__in=["proposed", "voided"],
                        )
                        | ~Q(method="")
                        & Q(
                            left__isnull=False,
                            sent_at__isnull=False,
                            sent_by__isnull=False,
                            state__in=["paying", "paid", "failed"],
                        ),
                        violation_error_message="Money leaves the invoice exactly when it is sent.",
                    ),
                    models.CheckConstraint(
                        name="overpayment_refund_by_file_names_its_payee",
                        condition=Q(file__isnull=True) & ~Q(method="sepa")
                        | Q(file__isnull=False, method="sepa") & ~Q(iban="") & ~Q(payee=""),
                        violation_error_message="A transfer by file names its file and its payee.",
                    ),
                    models.CheckConstraint(
                        name="overpayment_refund_ends_with_a_reference_or_a_reason",
                        condition=Q(
                            end_reason="",
                            ended_at__isnull=True,
                            ended_by__isnull=True,
                            reference="",
                            state__in=["proposed", "paying"],
                        )
                        | Q(ended_at__isnull=False, ended_by__isnull=False)
                        & (
                            Q(end_reason="", state="paid") & ~Q(reference="")
                            | Q(reference="", state__in=["failed", "voided"]) & ~Q(end_reason="")
                        ),
                        violation_error_message="A transfer ends with a reference, or with a reason.",
                    ),
                ],
            },
        ),
    ]
