"""Contracts with their terms, and who accepted them."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import PROTECT, F, Q
from django.utils.timezone import now


class Migration(migrations.Migration):
    replaces: ClassVar = [
        ("engagements", "0007_contract_terms"),
        ("engagements", "0022_refund_term"),
        ("engagements", "0025_who_signs_is_amended"),
    ]

    dependencies: ClassVar = [("benchmarks", "0003_signing"), ("engagements", "0003_audits")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="ContractVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("draft", "Draft"),
                            ("offered", "Offered"),
                            ("accepted", "Accepted"),
                            ("declined", "Declined"),
                            ("withdrawn", "Withdrawn"),
                            ("expired", "Expired"),
                            ("superseded", "Superseded"),
                        ],
                        default="draft",
                        max_length=10,
                    ),
                ),
                ("fee", models.DecimalField(decimal_places=3, max_digits=14)),
                ("audit_cost", models.DecimalField(decimal_places=3, max_digits=14)),
                ("currency", models.CharField(max_length=3)),
                ("tax_rate_percent", models.DecimalField(decimal_places=2, default=0, max_digits=5)),
                ("weeks", models.PositiveSmallIntegerField()),
                ("starts_on", models.DateField()),
                ("target", models.DecimalField(decimal_places=2, default=2, max_digits=5)),
                (
                    "inconclusive",
                    models.CharField(
                        choices=[
                            ("missed", "counts as missed: the consultancy bears the doubt"),
                            ("repeat", "decides nothing: it is measured again inside the time-box"),
                        ],
                        default="missed",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(default=now, editable=False)),
                ("canonical", models.BinaryField(blank=True, null=True)),
                ("digest", models.CharField(blank=True, db_index=True, max_length=71)),
                ("sealed_at", models.DateTimeField(blank=True, null=True)),
                ("benchmark", models.ForeignKey(on_delete=PROTECT, related_name="+", to="benchmarks.benchmark")),
                ("drafted_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="contracts", to="engagements.engagement"),
                ),
                (
                    "amendment",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("more_time", "More time"),
                            ("pause", "A pause"),
                            ("benchmark", "Another benchmark"),
                            ("price", "The price"),
                            ("signatory", "Who signs"),
                        ],
                        max_length=10,
                    ),
                ),
                ("amendment_reason", models.TextField(blank=True)),
                (
                    "amends",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=PROTECT,
                        related_name="amendments",
                        to="engagements.contractversion",
                    ),
                ),
                ("carried", models.DecimalField(decimal_places=3, default=0, max_digits=14)),
                ("dispute_days", models.PositiveSmallIntegerField(default=14)),
                ("payment_days", models.PositiveSmallIntegerField(default=14)),
                (
                    "signatory",
                    models.ForeignKey(
                        blank=True,
                        help_text="Who is to sign for the customer; any of its signatories when empty.",
                        null=True,
                        on_delete=PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("tax_note", models.TextField(blank=True, help_text="The sentence that the invoice needs.")),
                (
                    "tax_treatment",
                    models.CharField(
                        choices=[
                            ("rate", "At a rate"),
                            ("reverse_charge", "Reverse charge: the customer owes the tax"),
                            ("exempt", "Exempt"),
                        ],
                        default="rate",
                        max_length=14,
                    ),
                ),
                (
                    "valid_until",
                    models.DateField(
                        blank=True, help_text="The last day on which the offer may be accepted.", null=True
                    ),
                ),
                (
                    "refund_days",
                    models.PositiveSmallIntegerField(
                        blank=True,
                        default=14,
                        help_text="Within which a refund is paid; older contracts name no such term.",
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "constraints": [
                    models.UniqueConstraint(fields=("engagement", "number"), name="contract_number_once"),
                    models.UniqueConstraint(
                        fields=("engagement",),
                        name="contract_one_accepted_version",
                        condition=Q(state="accepted"),
                        violation_error_message="One version of a contract is in force at a time.",
                    ),
                    models.UniqueConstraint(
                        fields=("engagement",),
                        name="contract_one_open_version",
                        condition=Q(state__in=["draft", "offered"]),
                        violation_error_message="Another version is being drafted or on offer already.",
                    ),
                    models.CheckConstraint(
                        name="contract_runs_3_to_10_weeks",
                        condition=Q(weeks__gte=3, weeks__lte=10),
                        violation_error_message="A time-box is 3 to 10 weeks.",
                    ),
                    models.CheckConstraint(
                        name="contract_fee_is_positive",
                        condition=Q(fee__gt=0),
                        violation_error_message="The fee is more than nothing.",
                    ),
                    models.CheckConstraint(
                        name="contract_audit_cost_is_within_the_fee",
                        condition=Q(audit_cost__gte=0, audit_cost__lte=F("fee")),
                        violation_error_message="The audit cost is between nothing and the fee.",
                    ),
                    models.CheckConstraint(
                        name="contract_target_is_a_speedup",
                        condition=Q(target__gt=1),
                        violation_error_message="The target is more than 1×.",
                    ),
                    models.CheckConstraint(
                        name="contract_tax_rate_is_a_share",
                        condition=Q(tax_rate_percent__gte=0, tax_rate_percent__lt=100),
                        violation_error_message="The tax rate is a percentage from 0 to under 100.",
                    ),
                    models.CheckConstraint(
                        name="contract_is_sealed_once_it_leaves_the_draft",
                        condition=Q(canonical=None, digest="", sealed_at__isnull=True, state="draft")
                        | ~Q(state="draft")
                        & Q(canonical__isnull=False, digest__regex="^sha256:[0-9a-f]{64}$", sealed_at__isnull=False),
                        violation_error_message="A contract is sealed exactly when it is offered.",
                    ),
                    models.CheckConstraint(
                        name="contract_tax_is_treated_one_way",
                        condition=Q(tax_note="", tax_treatment="rate")
                        | Q(tax_rate_percent=0, tax_treatment__in=["reverse_charge", "exempt"]) & ~Q(tax_note=""),
                        violation_error_message="Tax is a rate, or none with the sentence that says why.",
                    ),
                    models.CheckConstraint(
                        name="contract_days_are_within_reason",
                        condition=Q(dispute_days__lte=90, payment_days__lte=120),
                        violation_error_message="Invoices are payable within 120 days, and disputes are open for at most 90.",
                    ),
                    models.CheckConstraint(
                        name="contract_amendment_says_what_and_why",
                        condition=Q(amendment="", amendment_reason="", amends__isnull=True, carried=0)
                        | Q(amends__isnull=False, carried__gte=0, carried__lte=F("fee"))
                        & ~Q(amendment="")
                        & ~Q(amendment_reason=""),
                        violation_error_message="An amendment says what it changes, and why.",
                    ),
                    models.CheckConstraint(
                        name="contract_refund_is_due_within_reason",
                        condition=Q(refund_days__isnull=True) | Q(refund_days__gte=1, refund_days__lte=60),
                        violation_error_message="A refund is paid within 1 to 60 days.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Acceptance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "party",
                    models.CharField(
                        choices=[("consultancy", "The consultancy"), ("customer", "The customer")], max_length=12
                    ),
                ),
                ("typed_name", models.CharField(max_length=120)),
                ("digest", models.CharField(max_length=71)),
                ("address", models.GenericIPAddressField(blank=True, null=True, verbose_name="IP address")),
                ("accepted_at", models.DateTimeField(default=now, editable=False)),
                ("user", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "contract_version",
                    models.ForeignKey(on_delete=PROTECT, related_name="acceptances", to="engagements.contractversion"),
                ),
                (
                    "signed_in_at",
                    models.DateTimeField(blank=True, help_text="When they had last proved who they are.", null=True),
                ),
            ],
            options={
                "ordering": ["accepted_at"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("contract_version", "party"),
                        name="acceptance_once_a_party",
                        violation_error_message="This party has accepted these terms already.",
                    ),
                    models.CheckConstraint(
                        name="acceptance_has_a_typed_name",
                        condition=~Q(typed_name=""),
                        violation_error_message="Whoever accepts types their name.",
                    ),
                ],
            },
        ),
    ]
