"""What belongs to a contract: milestones, clauses, pauses, and the runs that it asks for."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, PROTECT, F, Q
from django.utils.timezone import now


class Migration(migrations.Migration):
    replaces: ClassVar = [("engagements", "0028_target_in_words")]

    dependencies: ClassVar = [("engagements", "0004_contracts")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Milestone",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("title", models.CharField(max_length=120)),
                ("amount", models.DecimalField(decimal_places=3, max_digits=14)),
                (
                    "condition",
                    models.CharField(
                        choices=[
                            ("signed", "Contract signed"),
                            ("audit_delivered", "Audit delivered"),
                            ("date", "Date reached"),
                            ("target_met", "Target met"),
                            ("handover", "Handover accepted"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "Pending"),
                            ("released", "Released"),
                            ("billed", "Billed"),
                            ("void", "Void"),
                        ],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("released_at", models.DateTimeField(blank=True, null=True)),
                ("billed_at", models.DateTimeField(blank=True, null=True)),
                ("billing_reference", models.CharField(blank=True, max_length=60)),
                (
                    "contract_version",
                    models.ForeignKey(on_delete=PROTECT, related_name="milestones", to="engagements.contractversion"),
                ),
                ("due_on", models.DateField(blank=True, help_text="The day that a date waits for.", null=True)),
                (
                    "share",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="Its weight among the parts that divide what fixed amounts leave of the fee.",
                        max_digits=7,
                        null=True,
                    ),
                ),
            ],
            options={
                "ordering": ["contract_version", "position"],
                "constraints": [
                    models.UniqueConstraint(fields=("contract_version", "position"), name="milestone_position_once"),
                    models.CheckConstraint(
                        name="milestone_amount_is_positive",
                        condition=Q(amount__gt=0),
                        violation_error_message="A milestone is worth more than nothing.",
                    ),
                    models.CheckConstraint(
                        name="milestone_is_dated_as_far_as_it_got",
                        condition=Q(billed_at__isnull=True, state="pending")
                        | Q(state="void")
                        | Q(billed_at__isnull=True, released_at__isnull=False, state="released")
                        | Q(billed_at__isnull=False, released_at__isnull=False, state="billed")
                        & ~Q(billing_reference=""),
                        violation_error_message="A milestone is released before it is billed.",
                    ),
                    models.CheckConstraint(
                        name="milestone_date_has_its_day",
                        condition=Q(condition="date", due_on__isnull=False)
                        | ~Q(condition="date") & Q(due_on__isnull=True),
                        violation_error_message="A milestone that waits for a date says which day.",
                    ),
                    models.CheckConstraint(
                        name="milestone_share_is_positive",
                        condition=Q(share__isnull=True) | Q(share__gt=0),
                        violation_error_message="A share is more than nothing.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Clause",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=40)),
                ("number", models.PositiveSmallIntegerField()),
                ("title", models.CharField(max_length=120)),
                ("text", models.TextField()),
                ("digest", models.CharField(db_index=True, max_length=71)),
                ("published_at", models.DateTimeField(default=now, editable=False)),
                (
                    "published_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
            ],
            options={
                "ordering": ["slug", "-number"],
                "constraints": [
                    models.UniqueConstraint(fields=("slug", "number"), name="clause_number_once"),
                    models.CheckConstraint(
                        name="clause_has_a_text_and_its_digest",
                        condition=Q(digest__regex="^sha256:[0-9a-f]{64}$") & ~Q(title="") & ~Q(text=""),
                        violation_error_message="A clause has a title, a text and its SHA-256.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ContractClause",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("clause", models.ForeignKey(on_delete=PROTECT, related_name="+", to="engagements.clause")),
                (
                    "contract_version",
                    models.ForeignKey(on_delete=CASCADE, related_name="clauses", to="engagements.contractversion"),
                ),
            ],
            options={
                "ordering": ["contract_version", "position"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("contract_version", "position"), name="contract_clause_position_once"
                    ),
                    models.UniqueConstraint(fields=("contract_version", "clause"), name="contract_clause_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Pause",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("starts_on", models.DateField(verbose_name="from")),
                ("ends_on", models.DateField(verbose_name="until")),
                ("waits_for", models.CharField(help_text="Who is waited for.", max_length=120)),
                ("reason", models.TextField(verbose_name="why")),
                (
                    "contract_version",
                    models.ForeignKey(on_delete=CASCADE, related_name="pauses", to="engagements.contractversion"),
                ),
            ],
            options={
                "ordering": ["contract_version", "starts_on"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("contract_version", "starts_on"),
                        name="pause_starts_once",
                        violation_error_message="A pause starts on that day already.",
                    ),
                    models.CheckConstraint(
                        name="pause_ends_after_it_starts",
                        condition=Q(ends_on__gte=F("starts_on")),
                        violation_error_message="A pause does not end before it starts.",
                    ),
                    models.CheckConstraint(
                        name="pause_says_who_and_why",
                        condition=~Q(waits_for="") & ~Q(reason=""),
                        violation_error_message="A pause says who is waited for, and why.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EngagementRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "purpose",
                    models.CharField(choices=[("trial", "Trial"), ("acceptance", "Acceptance")], max_length=10),
                ),
                ("concluded_at", models.DateTimeField(blank=True, null=True)),
                (
                    "contract_version",
                    models.ForeignKey(
                        null=True, on_delete=PROTECT, related_name="runs", to="engagements.contractversion"
                    ),
                ),
                ("engagement", models.ForeignKey(on_delete=PROTECT, related_name="runs", to="engagements.engagement")),
                ("requested_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("run", models.OneToOneField(on_delete=PROTECT, related_name="+", to="benchmarks.run")),
            ],
            options={
                "ordering": ["-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("engagement",),
                        name="engagement_one_open_acceptance_run",
                        condition=Q(concluded_at__isnull=True, purpose="acceptance"),
                        violation_error_message="An acceptance run is under way already.",
                    ),
                    models.CheckConstraint(
                        name="engagement_acceptance_run_names_its_contract",
                        condition=~Q(purpose="acceptance") | Q(contract_version__isnull=False),
                        violation_error_message="An acceptance run is measured under a contract.",
                    ),
                ],
            },
        ),
    ]
