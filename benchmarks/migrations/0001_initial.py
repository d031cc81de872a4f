import benchmarks.models
import benchmarks.triggers
import django.db.models.deletion
import django.utils.timezone
import pgtrigger.compiler
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='BenchmarkCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request_key', models.UUIDField(unique=True)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('worker', models.CharField(blank=True, max_length=200)),
                ('progress', models.JSONField(blank=True, default=dict)),
                ('failure_reason', models.TextField(blank=True)),
                ('requested_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('document', models.BinaryField()),
                ('digest', models.CharField(max_length=71)),
                ('results', models.JSONField(blank=True, default=list)),
                ('checked', models.BinaryField(blank=True, null=True)),
                ('checked_digest', models.CharField(blank=True, max_length=71)),
            ],
            options={
                'ordering': ['-requested_at', '-pk'],
                'abstract': False,
                'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['state', 'leased_until'], name='benchmarkcheck_to_sweep')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('attempt__gte', 1), ('leased_until__isnull', False), ('state', 'running')), models.Q(models.Q(('state', 'running'), _negated=True), ('leased_until__isnull', True)), _connector='OR'), name='benchmarkcheck_has_a_lease_exactly_while_running', violation_error_message='A run has a lease exactly while it is running.'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state__in', ['finished', 'failed'])), models.Q(models.Q(('state__in', ['finished', 'failed']), _negated=True), ('finished_at__isnull', True)), _connector='OR'), name='benchmarkcheck_is_dated_when_concluded', violation_error_message='A concluded run has a date, an open one has none.'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('failure_reason', ''), _negated=True), _connector='OR'), name='benchmarkcheck_fails_with_a_reason', violation_error_message='A failed run needs a reason.'), models.CheckConstraint(condition=models.Q(models.Q(('checked__isnull', True), ('checked_digest', '')), models.Q(('checked__isnull', False), ('checked_digest__regex', '^sha256:[0-9a-f]{64}$'), ('state', 'finished')), _connector='OR'), name='benchmarkcheck_has_a_benchmark_only_when_passed')],
                'triggers': [pgtrigger.compiler.Trigger(name='deletion', sql=benchmarks.triggers.TriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'benchmarkcheck.deletion';", hash='6716062b092144509982e6170d0c7543b7c3429d', operation='DELETE', pgid='pgtrigger_deletion_7f757', table='benchmarks_benchmarkcheck', when='BEFORE')), pgtrigger.compiler.Trigger(name='concluded', sql=benchmarks.triggers.TriggerSql(condition='WHEN (OLD."state" IN (\'finished\', \'failed\'))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'benchmarkcheck.concluded';", hash='4df04d80b6135858e501ce03fb21d2b0a8964355', operation='UPDATE', pgid='pgtrigger_concluded_7c2f2', table='benchmarks_benchmarkcheck', when='BEFORE')), pgtrigger.compiler.Trigger(name='attempt', sql=benchmarks.triggers.TriggerSql(condition='WHEN (NEW.attempt < OLD.attempt)', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'benchmarkcheck.attempt';", hash='ba14b384e7682c39af0ed1dcee4c1180de83aa86', operation='UPDATE', pgid='pgtrigger_attempt_46d2d', table='benchmarks_benchmarkcheck', when='BEFORE')), pgtrigger.compiler.Trigger(name='identity', sql=benchmarks.triggers.TriggerSql(condition='WHEN (OLD."document" IS DISTINCT FROM (NEW."document") OR OLD."digest" IS DISTINCT FROM (NEW."digest") OR OLD."request_key" IS DISTINCT FROM (NEW."request_key"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'benchmarkcheck.identity';", hash='e81703ded8c6c87f8a80b70cb63a0a472962ae23', operation='UPDATE', pgid='pgtrigger_identity_43aae', table='benchmarks_benchmarkcheck', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='CapturedFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.FileField(max_length=200, storage=benchmarks.models.place_of_records, upload_to='')),
                ('digest', models.CharField(max_length=71, unique=True)),
                ('size_bytes', models.PositiveIntegerField()),
                ('stored_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ['-stored_at', '-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('digest__regex', '^sha256:[0-9a-f]{64}$'), ('size_bytes__gt', 0)), name='capturedfile_has_a_digest')],
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=benchmarks.triggers.TriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'capturedfile.append_only';", hash='642990ab93bb69d3da717dd881c9bf2ececfb4a7', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_b364c', table='benchmarks_capturedfile', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='SigningKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key_id', models.CharField(max_length=16, unique=True)),
                ('name', models.CharField(max_length=120)),
                ('public_key', models.TextField()),
                ('owner', models.CharField(blank=True, editable=False, max_length=40)),
                ('added_by', models.CharField(max_length=200)),
                ('added_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('retired_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-added_at', '-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('key_id__regex', '^[0-9a-f]{16}$')), name='signing_key_has_its_id', violation_error_message='A key id has 16 hexadecimal digits.')],
                'triggers': [pgtrigger.compiler.Trigger(name='deletion', sql=benchmarks.triggers.TriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'signingkey.deletion';", hash='2f597b977ea9b91bfeb133fe468ec3a1192279db', operation='DELETE', pgid='pgtrigger_deletion_713ab', table='benchmarks_signingkey', when='BEFORE')), pgtrigger.compiler.Trigger(name='identity', sql=benchmarks.triggers.TriggerSql(condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key_id" IS DISTINCT FROM (NEW."key_id") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."public_key" IS DISTINCT FROM (NEW."public_key") OR OLD."owner" IS DISTINCT FROM (NEW."owner") OR OLD."added_by" IS DISTINCT FROM (NEW."added_by") OR OLD."added_at" IS DISTINCT FROM (NEW."added_at"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'signingkey.identity';", hash='49b669c2633981948ab328caacc455e75f47ee7d', operation='UPDATE', pgid='pgtrigger_identity_49f61', table='benchmarks_signingkey', when='BEFORE')), pgtrigger.compiler.Trigger(name='retirement', sql=benchmarks.triggers.TriggerSql(condition='WHEN ((OLD."retired_at" IS NOT NULL) AND (OLD."retired_at" IS DISTINCT FROM (NEW."retired_at")))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'signingkey.retirement';", hash='7fc71bd485a8d3c0dd2463b67042200b8f9eedbb', operation='UPDATE', pgid='pgtrigger_retirement_0bb23', table='benchmarks_signingkey', when='BEFORE')), pgtrigger.compiler.Trigger(name='revocation', sql=benchmarks.triggers.TriggerSql(condition='WHEN ((OLD."revoked_at" IS NOT NULL) AND (OLD."revoked_at" IS DISTINCT FROM (NEW."revoked_at")))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'signingkey.revocation';", hash='59f0950092f482913ff72e99107c7ad77c847c32', operation='UPDATE', pgid='pgtrigger_revocation_64e7b', table='benchmarks_signingkey', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='Benchmark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120)),
                ('operator', models.CharField(max_length=80)),
                ('canonical', models.BinaryField()),
                ('digest', models.CharField(max_length=71, unique=True)),
                ('sealed_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ['-sealed_at', '-pk'],
                'constraints': [models.CheckConstraint(condition=models.Q(('digest__regex', '^sha256:[0-9a-f]{64}$')), name='benchmark_digest_is_sha256', violation_error_message='A benchmark is sealed by a SHA-256 digest.')],
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=benchmarks.triggers.TriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'benchmark.append_only';", hash='b3bb2d9eac52aac50a28a1a18767904161c1a353', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_ed977', table='benchmarks_benchmark', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='Solution',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120)),
                ('operator', models.CharField(max_length=80)),
                ('filename', models.CharField(max_length=120)),
                ('source', models.TextField()),
                ('digest', models.CharField(max_length=71)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'constraints': [models.UniqueConstraint(fields=('operator', 'name', 'digest'), name='solution_is_stored_once', violation_error_message='This source is stored under this name already.')],
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=benchmarks.triggers.TriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'solution.append_only';", hash='e474a4e0a9a2d2b312d52b24ab96d650aa97ccd3', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_aaba1', table='benchmarks_solution', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('request_key', models.UUIDField(unique=True)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('finished', 'Finished'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('leased_until', models.DateTimeField(blank=True, null=True)),
                ('worker', models.CharField(blank=True, max_length=200)),
                ('progress', models.JSONField(blank=True, default=dict)),
                ('failure_reason', models.TextField(blank=True)),
                ('requested_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('nonce', models.CharField(default=benchmarks.models.new_nonce, editable=False, max_length=64, unique=True)),
                ('customer_nonce', models.CharField(blank=True, editable=False, max_length=128)),
                ('measured_by', models.CharField(blank=True, editable=False, max_length=40)),
                ('cancelled_by', models.CharField(blank=True, editable=False, max_length=200)),
                ('failure_code', models.CharField(blank=True, choices=[('candidate_crashed', 'The candidate crashed'), ('candidate_out_of_time', 'The candidate exceeded its time limit'), ('candidate_out_of_memory', 'The candidate ran out of memory'), ('interrupted', 'The referee or its machine was interrupted'), ('benchmark_at_fault', 'The benchmark, its baseline or the machine is at fault'), ('record_refused', 'The record was refused'), ('unclaimed', 'No runner claimed the run'), ('cancelled', 'Cancelled')], max_length=24)),
                ('log', models.TextField(blank=True, editable=False, help_text='What was printed before the run failed; it may name machines and paths.')),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='benchmarks.benchmark')),
                ('solution', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='benchmarks.solution')),
            ],
            options={
                'ordering': ['-requested_at', '-pk'],
                'abstract': False,
                'indexes': [models.Index(condition=models.Q(('state__in', ['queued', 'running'])), fields=['state', 'leased_until'], name='run_to_sweep')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('attempt__gte', 1), ('leased_until__isnull', False), ('state', 'running')), models.Q(models.Q(('state', 'running'), _negated=True), ('leased_until__isnull', True)), _connector='OR'), name='run_has_a_lease_exactly_while_running', violation_error_message='A run has a lease exactly while it is running.'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at__isnull', False), ('state__in', ['finished', 'failed'])), models.Q(models.Q(('state__in', ['finished', 'failed']), _negated=True), ('finished_at__isnull', True)), _connector='OR'), name='run_is_dated_when_concluded', violation_error_message='A concluded run has a date, an open one has none.'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), _negated=True), models.Q(('failure_reason', ''), _negated=True), _connector='OR'), name='run_fails_with_a_reason', violation_error_message='A failed run needs a reason.'), models.UniqueConstraint(condition=models.Q(('customer_nonce', ''), _negated=True), fields=('customer_nonce',), name='run_customer_nonce_is_used_once', violation_error_message='This nonce was used for another run. Enter a new one.'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'failed'), models.Q(('failure_code', ''), _negated=True)), models.Q(models.Q(('state', 'failed'), _negated=True), ('failure_code', '')), _connector='OR'), name='run_fails_with_a_code', violation_error_message='A failed run needs the cause of its failure.')],
                'triggers': [pgtrigger.compiler.Trigger(name='deletion', sql=benchmarks.triggers.TriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'run.deletion';", hash='a5734afb0d9e18e89498bf2447161e0e870936b5', operation='DELETE', pgid='pgtrigger_deletion_56c99', table='benchmarks_run', when='BEFORE')), pgtrigger.compiler.Trigger(name='concluded', sql=benchmarks.triggers.TriggerSql(condition='WHEN (OLD."state" IN (\'finished\', \'failed\'))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'run.concluded';", hash='73695b1f82a6fd98e5fc70901e308241fee852ba', operation='UPDATE', pgid='pgtrigger_concluded_917a7', table='benchmarks_run', when='BEFORE')), pgtrigger.compiler.Trigger(name='attempt', sql=benchmarks.triggers.TriggerSql(condition='WHEN (NEW.attempt < OLD.attempt)', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'run.attempt';", hash='e70e206e5863278c3f761d293feda5e7c0673c28', operation='UPDATE', pgid='pgtrigger_attempt_82194', table='benchmarks_run', when='BEFORE')), pgtrigger.compiler.Trigger(name='identity', sql=benchmarks.triggers.TriggerSql(condition='WHEN (OLD."benchmark_id" IS DISTINCT FROM (NEW."benchmark_id") OR OLD."solution_id" IS DISTINCT FROM (NEW."solution_id") OR OLD."request_key" IS DISTINCT FROM (NEW."request_key") OR OLD."customer_nonce" IS DISTINCT FROM (NEW."customer_nonce") OR OLD."measured_by" IS DISTINCT FROM (NEW."measured_by"))', func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'run.identity';", hash='d6017ac264cb1796784ed12b3de9202c6015b017', operation='UPDATE', pgid='pgtrigger_identity_17e25', table='benchmarks_run', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='Record',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attempt', models.PositiveIntegerField()),
                ('file', models.FileField(max_length=200, storage=benchmarks.models.place_of_records, upload_to='')),
                ('digest', models.CharField(max_length=71, unique=True)),
                ('file_digest', models.CharField(blank=True, db_index=True, editable=False, max_length=71)),
                ('sourceless_digest', models.CharField(blank=True, db_index=True, editable=False, max_length=71)),
                ('nonce', models.CharField(blank=True, editable=False, max_length=64)),
                ('verdict', models.CharField(choices=[('met', 'Met'), ('missed', 'Missed'), ('inconclusive', 'Inconclusive'), ('invalid', 'Invalid'), ('disqualified', 'Disqualified')], max_length=12)),
                ('ratio', models.FloatField(null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('summary', models.JSONField()),
                ('device_name', models.CharField(max_length=200)),
                ('received_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='record', to='benchmarks.run')),
                ('signed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='records', to='benchmarks.signingkey')),
            ],
            options={
                'ordering': ['-received_at', '-pk'],
                'constraints': [models.UniqueConstraint(fields=('run', 'attempt'), name='record_once_an_attempt'), models.UniqueConstraint(condition=models.Q(('nonce', ''), _negated=True), fields=('nonce',), name='record_nonce_is_used_once'), models.CheckConstraint(condition=models.Q(('verdict__in', ['invalid', 'disqualified']), models.Q(('high__isnull', False), ('low__isnull', False), ('ratio__isnull', False)), _connector='OR'), name='record_verdict_rests_on_a_ratio', violation_error_message='A verdict about the target needs a measured ratio.')],
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=benchmarks.triggers.TriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'record.append_only';", hash='9a3fda0a890abdcbd540616bc69d103d5b9de933', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_1179a', table='benchmarks_record', when='BEFORE'))],
            },
        ),
        migrations.CreateModel(
            name='Repetition',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.FileField(max_length=200, storage=benchmarks.models.place_of_records, upload_to='')),
                ('digest', models.CharField(max_length=71)),
                ('verdict', models.CharField(choices=[('met', 'Met'), ('missed', 'Missed'), ('inconclusive', 'Inconclusive'), ('invalid', 'Invalid'), ('disqualified', 'Disqualified')], max_length=12)),
                ('ratio', models.FloatField(null=True)),
                ('low', models.FloatField(null=True)),
                ('high', models.FloatField(null=True)),
                ('summary', models.JSONField()),
                ('device_name', models.CharField(max_length=200)),
                ('key_id', models.CharField(blank=True, max_length=16)),
                ('added_by', models.CharField(max_length=200)),
                ('added_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='repetitions', to='benchmarks.run')),
                ('signed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='benchmarks.signingkey')),
            ],
            options={
                'ordering': ['-added_at', '-pk'],
                'constraints': [models.UniqueConstraint(fields=('run', 'digest'), name='repetition_once_a_run')],
                'triggers': [pgtrigger.compiler.Trigger(name='append_only', sql=benchmarks.triggers.TriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'repetition.append_only';", hash='9a1c003423acffb06602e9822f077ab8f96b2ed3', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_40ffc', table='benchmarks_repetition', when='BEFORE'))],
            },
        ),
    ]
