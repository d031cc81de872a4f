"""Hold the attempts of a contract: no more than it seals, decided once."""

import pgtrigger

from benchmarks.triggers import ReadOnly, Trigger, refuse

# A run is requested only while an attempt is left.
ATTEMPT_LEFT = Trigger(
    name="attempt_left",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    condition=pgtrigger.Q(new__purpose="acceptance"),
    func=f"""
    IF (SELECT count(*) FROM engagements_engagementrun
        WHERE engagement_id = NEW.engagement_id AND attempt IS NOT NULL)
        >= (SELECT acceptance_runs FROM engagements_contractversion
            WHERE id = NEW.contract_version_id) THEN
        {refuse("run.attempts_used_up", "All acceptance runs of the contract are used up.")}
    END IF;
    RETURN NEW;
    """,
)

# A run whose contract requires notice is requested once the notice has passed.
NOTICE_GIVEN = Trigger(
    name="notice_given",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    condition=pgtrigger.Q(new__purpose="acceptance"),
    declare=[("latest", "engagements_event%ROWTYPE")],
    func=f"""
    IF (SELECT run_notice_days FROM engagements_contractversion
        WHERE id = NEW.contract_version_id) = 0 THEN
        RETURN NEW;
    END IF;
    SELECT * INTO latest FROM engagements_event
        WHERE engagement_id = NEW.engagement_id AND for_customer
        AND verb IN ('run.announced', 'run.requested') ORDER BY position DESC LIMIT 1;
    IF latest.verb IS DISTINCT FROM 'run.announced' THEN
        {refuse("run.notice", "The contract requires notice before an acceptance run.")}
    END IF;
    IF (SELECT (requested_at AT TIME ZONE 'UTC')::date FROM benchmarks_run WHERE id = NEW.run_id)
        < (latest.changes->>'from')::date THEN
        {refuse("run.notice_running", "The notice of this acceptance run has not passed.")}
    END IF;
    RETURN NEW;
    """,
)

ATTEMPT_SEALED = Trigger(
    name="attempt_sealed",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert | pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.attempt IS NOT NULL OR NEW.is_noise_repeat"),
    declare=[("sealed", "engagements_contractversion%ROWTYPE")],
    func=f"""
    SELECT * INTO sealed FROM engagements_contractversion WHERE id = NEW.contract_version_id;
    IF NEW.attempt > sealed.acceptance_runs THEN
        {refuse("run.beyond_attempts", "The contract seals fewer acceptance runs.")}
    END IF;
    IF NEW.is_noise_repeat AND (
        SELECT count(*) FROM engagements_engagementrun
        WHERE engagement_id = NEW.engagement_id AND is_noise_repeat AND id <> NEW.id
    ) >= sealed.noise_repeats THEN
        {refuse("run.beyond_repeats", "The contract seals fewer repeats for noise.")}
    END IF;
    RETURN NEW;
    """,
)

# The counted outcome of a run is fixed, until a repeat replaces a verdict of the engagement.
CONCLUDED = ReadOnly(
    name="concluded",
    fields=["is_noise_repeat", "concluded_at", "decision"],
    condition=pgtrigger.Q(old__concluded_at__isnull=False),
)
RECOUNTED = Trigger(
    name="recounted",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition(
        "OLD.concluded_at IS NOT NULL AND NEW.attempt IS DISTINCT FROM OLD.attempt"
    ),
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_engagementrun
                   WHERE engagement_id = NEW.engagement_id AND repeat_verdict <> '') THEN
        {refuse("engagementrun.recounted", "Only a repeat counts the attempts again.")}
    END IF;
    RETURN NEW;
    """,
)
# A repeat that took a verdict back may leave time for other attempts.
FINAL = Trigger(
    name="final",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition(
        "OLD.final_at IS NOT NULL AND (NEW.final_at, NEW.declared_final_by_id)"
        " IS DISTINCT FROM (OLD.final_at, OLD.declared_final_by_id)"
    ),
    func=f"""
    IF NEW.final_at IS NOT NULL OR (
        NEW.repeat_verdict IN ('', 'met') AND NOT EXISTS (
            SELECT 1 FROM engagements_engagementrun WHERE engagement_id = NEW.engagement_id
            AND repeat_verdict NOT IN ('', 'met'))
    ) THEN
        {refuse("engagementrun.final", "A final attempt stays final.")}
    END IF;
    RETURN NEW;
    """,
)
REPEATED = Trigger(
    name="repeated",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert | pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.repeat_verdict <> ''"),
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_measurementdispute WHERE run_id = NEW.id
                   AND state = 'replaced' AND new_verdict = NEW.repeat_verdict) THEN
        {refuse("engagementrun.repeated", "Only the repeat of a run replaces its verdict.")}
    END IF;
    RETURN NEW;
    """,
)

# The runs of a request are of one candidate on one benchmark, each measured by one of the parties,
# and there are two of them exactly where the contract says so.
PAIRED = Trigger(
    name="paired",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    condition=pgtrigger.Q(new__purpose="acceptance"),
    func=f"""
    IF (NEW.counterpart_id IS NOT NULL) IS DISTINCT FROM (
        SELECT place = 'both' FROM engagements_contractversion WHERE id = NEW.contract_version_id
    ) THEN
        {refuse("run.pair", "Two runs are made where the contract says that both parties measure.")}
    END IF;
    IF NEW.counterpart_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM engagements_engagementrun other
        JOIN benchmarks_run theirs ON theirs.id = other.run_id
        JOIN benchmarks_run ours ON ours.id = NEW.run_id
        WHERE other.id = NEW.counterpart_id AND other.purpose = 'counterpart'
          AND other.engagement_id = NEW.engagement_id
          AND other.contract_version_id = NEW.contract_version_id
          AND theirs.benchmark_id = ours.benchmark_id AND theirs.solution_id = ours.solution_id
          AND ours.measured_by = '' AND theirs.measured_by <> ''
    ) THEN
        {refuse("run.other_counterpart", "A counterpart measures the same by the other party.")}
    END IF;
    RETURN NEW;
    """,
)
COUNTERPART_HELD = ReadOnly(name="counterpart_held", fields=["counterpart"])

# A decision is that of the records: of the only one, or of both where they agree. The candidate
# crashed where its own process ended every run.
DECIDED_BY_RECORDS = Trigger(
    name="decided_by_records",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert | pgtrigger.Update,
    condition=pgtrigger.Condition("NEW.decision IN ('met', 'missed', 'disqualified', 'crashed')"),
    func=f"""
    IF EXISTS (
        SELECT 1 FROM (
            SELECT NEW.run_id AS id UNION ALL
            SELECT run_id FROM engagements_engagementrun WHERE id = NEW.counterpart_id
        ) measured
        JOIN benchmarks_run run ON run.id = measured.id
        LEFT JOIN benchmarks_record record ON record.run_id = measured.id
        WHERE coalesce(record.verdict, substr(run.failure_code, 1, 9)) <>
            CASE NEW.decision WHEN 'crashed' THEN 'candidate' ELSE NEW.decision END
    ) OR (NEW.decision <> 'disqualified' AND EXISTS (
        SELECT 1 FROM engagements_engagementrun other
        JOIN benchmarks_record theirs ON theirs.run_id = other.run_id
        JOIN benchmarks_record ours ON ours.run_id = NEW.run_id
        WHERE other.id = NEW.counterpart_id AND (theirs.low > ours.high OR ours.low > theirs.high)
    )) THEN
        {refuse("run.decided_otherwise", "The records of this run do not decide so.")}
    END IF;
    RETURN NEW;
    """,
)
