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

# What a run counted as stays; only its being final is set later, once.
CONCLUDED = ReadOnly(
    name="concluded",
    fields=["attempt", "is_noise_repeat", "concluded_at"],
    condition=pgtrigger.Q(old__concluded_at__isnull=False),
)
FINAL = ReadOnly(
    name="final",
    fields=["final_at", "declared_final_by"],
    condition=pgtrigger.Q(old__final_at__isnull=False),
)
