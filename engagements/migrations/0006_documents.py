"""Documents that were issued, those that could not be made, and mails."""

from typing import ClassVar

from django.db import migrations, models
from django.db.models import PROTECT, Q
from django.utils.timezone import now


class Migration(migrations.Migration):
    replaces: ClassVar = [
        ("engagements", "0017_digests_are_looked_up"),
        ("engagements", "0021_document_seal"),
        ("engagements", "0030_documents_not_made"),
    ]

    dependencies: ClassVar = [("engagements", "0005_contract_parts")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="Document",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("audit_report", "Audit report"),
                            ("contract", "Contract"),
                            ("benchmark_report", "Benchmark report"),
                            ("invoice", "Invoice"),
                            ("credit_note", "Credit note"),
                            ("settlement_statement", "Settlement statement"),
                        ],
                        max_length=24,
                    ),
                ),
                ("subject", models.CharField(max_length=60)),
                ("title", models.CharField(max_length=160)),
                ("filename", models.CharField(max_length=120)),
                ("content", models.BinaryField()),
                ("size_bytes", models.PositiveIntegerField()),
                ("digest", models.CharField(db_index=True, max_length=71)),
                ("for_customer", models.BooleanField(default=True)),
                ("issued_at", models.DateTimeField(default=now, editable=False)),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="documents", to="engagements.engagement"),
                ),
                ("seal", models.CharField(blank=True, db_index=True, max_length=71)),
            ],
            options={
                "ordering": ["-issued_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "subject"),
                        name="document_is_issued_once",
                        violation_error_message="This document has been issued already.",
                    ),
                    models.CheckConstraint(
                        name="document_has_a_digest",
                        condition=Q(digest__regex="^sha256:[0-9a-f]{64}$", size_bytes__gt=0),
                        violation_error_message="A document has bytes and their SHA-256.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DocumentFailure",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("audit_report", "Audit report"),
                            ("contract", "Contract"),
                            ("benchmark_report", "Benchmark report"),
                            ("invoice", "Invoice"),
                            ("credit_note", "Credit note"),
                            ("settlement_statement", "Settlement statement"),
                        ],
                        max_length=24,
                    ),
                ),
                ("subject", models.CharField(max_length=60)),
                ("title", models.CharField(max_length=160)),
                ("reason", models.TextField()),
                ("failed_at", models.DateTimeField()),
                (
                    "engagement",
                    models.ForeignKey(on_delete=PROTECT, related_name="document_failures", to="engagements.engagement"),
                ),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "subject"),
                        name="document_failure_once",
                        violation_error_message="Why this document is not made is noted already.",
                    ),
                    models.CheckConstraint(
                        name="document_failure_says_why",
                        condition=~Q(reason=""),
                        violation_error_message="A document that is not made has a reason.",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Mail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=80)),
                ("recipient", models.EmailField(max_length=254)),
                ("subject", models.CharField(max_length=160)),
                ("body", models.TextField()),
                ("written_at", models.DateTimeField(default=now, editable=False)),
                ("sent_at", models.DateTimeField(blank=True, null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("failure", models.TextField(blank=True)),
                (
                    "document",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to="engagements.document"),
                ),
                ("engagement", models.ForeignKey(on_delete=PROTECT, related_name="mails", to="engagements.engagement")),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [models.Index(name="mail_waits", fields=["id"], condition=Q(sent_at=None))],
                "constraints": [models.UniqueConstraint(fields=("key", "recipient"), name="mail_once_a_recipient")],
            },
        ),
    ]
