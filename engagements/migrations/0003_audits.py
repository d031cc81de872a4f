"""Evidence, answers, and the audits that are computed from them."""

from typing import ClassVar

from django.conf import settings
from django.db import migrations, models
from django.db.models import PROTECT, Q
from django.utils.timezone import now

from benchmarks.models import place_of_records


class Migration(migrations.Migration):
    replaces: ClassVar = [
        ("engagements", "0004_evidence"),
        ("engagements", "0015_computed_findings"),
        ("engagements", "0026_audits_are_waived"),
    ]

    dependencies: ClassVar = [("engagements", "0002_engagements")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Evidence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(help_text="The file's name as it was sent.", max_length=200)),
                ("file", models.FileField(max_length=200, storage=place_of_records, upload_to="")),
                ("digest", models.CharField(max_length=71)),
                ("size_bytes", models.PositiveBigIntegerField()),
                ("added_by_name", models.CharField(max_length=160)),
                ("added_at", models.DateTimeField(default=now, editable=False)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Waiting to be read"),
                            ("reading", "Being read"),
                            ("read", "Read"),
                            ("unreadable", "Cannot be read"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("leased_until", models.DateTimeField(blank=True, null=True)),
                ("sent_at", models.DateTimeField(blank=True, null=True)),
                ("read_share", models.FloatField(default=0.0, help_text="How much of the file was read, 0 to 1.")),
                (
                    "format",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("chrome_trace", "PyTorch profiler trace"),
                            ("nsight_systems", "Nsight Systems export"),
                            ("nsight_compute", "Nsight Compute export"),
                            ("traffic", "Shape traffic"),
                        ],
                        max_length=16,
                    ),
                ),
                ("summary", models.JSONField(blank=True, null=True)),
                ("failure_reason", models.TextField(blank=True)),
                ("concluded_at", models.DateTimeField(blank=True, null=True)),
                (
                    "added_by",
                    models.ForeignKey(
                        blank=True, null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="evidence", to="engagements.engagement"),
                ),
            ],
            options={
                "verbose_name_plural": "evidence",
                "ordering": ["-added_at", "-pk"],
                "indexes": [
                    models.Index(
                        name="evidence_to_sweep",
                        fields=["state", "leased_until"],
                        condition=Q(state__in=["queued", "reading"]),
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("engagement", "digest"),
                        name="evidence_is_kept_once",
                        violation_error_message="This file is among the evidence already.",
                    ),
                    models.CheckConstraint(
                        name="evidence_has_a_digest",
                        condition=Q(digest__regex="^sha256:[0-9a-f]{64}$", size_bytes__gt=0),
                        violation_error_message="Evidence has bytes and their SHA-256.",
                    ),
                    models.CheckConstraint(
                        name="evidence_is_read_by_shares",
                        condition=Q(read_share__gte=0, read_share__lte=1),
                        violation_error_message="Between nothing and all of a file is read.",
                    ),
                    models.CheckConstraint(
                        name="evidence_has_a_lease_exactly_while_read",
                        condition=Q(attempt__gte=1, leased_until__isnull=False, state="reading")
                        | ~Q(state="reading") & Q(leased_until__isnull=True),
                        violation_error_message="Evidence has a lease exactly while it is read.",
                    ),
                    models.CheckConstraint(
                        name="evidence_has_a_summary_exactly_when_read",
                        condition=Q(concluded_at__isnull=False, state="read", summary__isnull=False) & ~Q(format="")
                        | Q(concluded_at__isnull=False, state="unreadable", summary__isnull=True)
                        & ~Q(failure_reason="")
                        | Q(
                            ("state__in", ["queued", "reading"]),
                            ("summary__isnull", True),
                            ("concluded_at__isnull", True),
                        ),
                        violation_error_message="Evidence has a summary exactly when it was read, and a reason when it cannot be.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Answer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "question",
                    models.CharField(
                        choices=[
                            ("roadmap", "Which models come next, and when?"),
                            ("maintainers", "Who will maintain the kernel, with how many hours a month?"),
                            ("gpu_generations", "Which GPU generations are planned, and when?"),
                            ("tail_latency", "Is there a tail-latency target?"),
                            ("gpu_bill", "What does the workload's GPU time cost a month?"),
                        ],
                        max_length=16,
                    ),
                ),
                ("value", models.JSONField()),
                ("note", models.TextField(blank=True)),
                ("answered_by", models.CharField(max_length=160)),
                ("answered_on", models.DateField()),
                ("recorded_at", models.DateTimeField(default=now, editable=False)),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="answers", to="engagements.engagement"),
                ),
                ("recorded_by", models.ForeignKey(on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "ordering": ["-recorded_at", "-pk"],
                "indexes": [models.Index(fields=["engagement", "question", "-recorded_at"], name="answer_newest")],
                "constraints": [
                    models.CheckConstraint(
                        name="answer_has_an_author",
                        condition=~Q(answered_by=""),
                        violation_error_message="An answer says whose word it is.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Audit",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cost", models.DecimalField(decimal_places=3, max_digits=14)),
                ("currency", models.CharField(max_length=3)),
                ("started_at", models.DateTimeField(default=now, editable=False)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("custom", "Custom kernel work may be right"),
                            ("redirect", "Redirect to cheaper interventions"),
                            ("decline", "Decline"),
                        ],
                        max_length=10,
                    ),
                ),
                ("delivered_at", models.DateTimeField(blank=True, null=True)),
                (
                    "engagement",
                    models.OneToOneField(on_delete=PROTECT, related_name="audit", to="engagements.engagement"),
                ),
                ("computed_at", models.DateTimeField(blank=True, null=True)),
                ("computed_from", models.CharField(blank=True, max_length=71)),
                ("subject", models.JSONField(blank=True, default=dict)),
                ("thresholds", models.JSONField(blank=True, default=dict)),
                ("verdict", models.JSONField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        name="audit_cost_is_not_negative",
                        condition=Q(cost__gte=0),
                        violation_error_message="The cost of an audit is not negative.",
                    ),
                    models.CheckConstraint(
                        name="audit_has_an_outcome_exactly_when_delivered",
                        condition=Q(("outcome", ""), ("delivered_at__isnull", True))
                        | ~Q(outcome="") & Q(delivered_at__isnull=False),
                        violation_error_message="An audit has an outcome exactly when it is delivered.",
                    ),
                    models.CheckConstraint(
                        name="audit_says_what_it_was_computed_from",
                        condition=Q(computed_at__isnull=True, computed_from="")
                        | Q(computed_at__isnull=False, computed_from__regex="^sha256:[0-9a-f]{64}$"),
                        violation_error_message="Computed findings say when and from what.",
                    ),
                ]
            },
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "check_name",
                    models.CharField(
                        choices=[
                            ("hot", "Is the operation hot?"),
                            ("off_the_shelf", "Is nothing off the shelf that fits?"),
                            ("stable", "Are the shapes stable?"),
                            ("survives", "Will it survive a model change?"),
                            ("maintain", "Is there the depth to maintain it?"),
                            ("worth", "Is the speedup worth it?"),
                        ],
                        max_length=16,
                        verbose_name="check",
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[("pass", "Pass"), ("fail", "Fail"), ("unknown", "Unknown")],
                        default="unknown",
                        max_length=8,
                    ),
                ),
                ("value", models.CharField(blank=True, max_length=200)),
                ("rationale", models.TextField(blank=True)),
                ("found_at", models.DateTimeField(blank=True, null=True)),
                (
                    "override_outcome",
                    models.CharField(
                        blank=True, choices=[("pass", "Pass"), ("fail", "Fail"), ("unknown", "Unknown")], max_length=8
                    ),
                ),
                ("override_reason", models.TextField(blank=True)),
                ("audit", models.ForeignKey(on_delete=PROTECT, related_name="findings", to="engagements.audit")),
                (
                    "found_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                (
                    "overridden_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
                ("computed", models.JSONField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("audit", "check_name"),
                        name="finding_once_a_check",
                        violation_error_message="Each check has one finding.",
                    ),
                    models.CheckConstraint(
                        name="finding_known_has_value_and_rationale",
                        condition=Q(outcome="unknown") | ~Q(value="") & ~Q(rationale=""),
                        violation_error_message="A finding that says pass or fail gives value and reason.",
                    ),
                    models.CheckConstraint(
                        name="finding_override_has_a_reason_and_a_name",
                        condition=Q(overridden_by__isnull=True, override_outcome="", override_reason="")
                        | ~Q(override_outcome="") & ~Q(override_reason="") & Q(overridden_by__isnull=False),
                        violation_error_message="Who overrides a finding says why.",
                    ),
                ]
            },
        ),
    ]
