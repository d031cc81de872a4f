from django.db import migrations, models

HELP = "Within which a refund is paid; older contracts name no such term."
RANGE = models.Q(refund_days__isnull=True) | models.Q(refund_days__gte=1, refund_days__lte=60)


class Migration(migrations.Migration):
    dependencies = [
        ("engagements", "0021_document_seal"),
    ]

    operations = [
        # Without the default first: what was sealed before named no such term.
        migrations.AddField(
            model_name="contractversion",
            name="refund_days",
            field=models.PositiveSmallIntegerField(blank=True, null=True, help_text=HELP),
        ),
        migrations.AlterField(
            model_name="contractversion",
            name="refund_days",
            field=models.PositiveSmallIntegerField(
                blank=True, null=True, default=14, help_text=HELP
            ),
        ),
        migrations.AddConstraint(
            model_name="contractversion",
            constraint=models.CheckConstraint(
                condition=RANGE,
                name="contract_refund_is_due_within_reason",
                violation_error_message="A refund is paid within 1 to 60 days.",
            ),
        ),
    ]
