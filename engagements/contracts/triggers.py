"""Freeze sealed terms with their parts, and check amendments, milestones and acceptances."""

from __future__ import annotations

import pgtrigger
from pgtrigger.core import Condition, Operation

from benchmarks.triggers import WRITES, Trigger, refuse

CHECK_AMENDMENT = Trigger(
    name="amendment",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert | pgtrigger.Update,
    condition=pgtrigger.Q(new__amends__isnull=False),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_contractversion
        WHERE id = NEW.amends_id AND engagement_id = NEW.engagement_id
          AND currency = NEW.currency AND tax_treatment = NEW.tax_treatment
          AND tax_rate_percent = NEW.tax_rate_percent AND starts_on = NEW.starts_on
    ) THEN
        {
        refuse(
            "contract.amendment",
            "An amendment keeps the engagement, currency, tax and start date.",
        )
    }
    END IF;
    RETURN NEW;
    """,
)

# Deferred, so that a draft may be written milestone by milestone in one transaction.
ADD_UP_MILESTONES = Trigger(
    name="milestones_add_up",
    when=pgtrigger.After,
    operation=pgtrigger.Insert | pgtrigger.Update,
    timing=pgtrigger.Deferred,
    condition=pgtrigger.Q(new__sealed_at__isnull=False),
    declare=[("parts", "numeric")],
    func=f"""
    SELECT coalesce(sum(amount), 0) + NEW.previously_released INTO parts FROM engagements_milestone
        WHERE contract_version_id = NEW.id;
    IF parts <> NEW.fee THEN
        {
        refuse(
            "contract.milestones_add_up",
            "The milestones add up to %, but the fee is %.",
            "parts",
            "NEW.fee",
        )
    }
    END IF;
    RETURN NULL;
    """,
)

CHECK_ACCEPTANCE = Trigger(
    name="offered",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    declare=[("signatory", "bigint"), ("first_party", "text")],
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_contractversion
                   WHERE id = NEW.contract_version_id AND state = 'offered'
                     AND digest = NEW.digest) THEN
        {
        refuse(
            "acceptance.offered",
            "An acceptance must name the digest of the terms on offer.",
        )
    }
    END IF;
    IF NEW.party = 'customer' AND NEW.exclusion_consent = '' AND EXISTS (
        SELECT 1 FROM engagements_contractversion
        WHERE id = NEW.contract_version_id AND excluded_library <> ''
    ) THEN
        {
        refuse(
            "acceptance.exclusion",
            "The customer accepts an excluded baseline separately.",
        )
    }
    END IF;
    SELECT delegate_id INTO signatory FROM engagements_delegation
        WHERE contract_version_id = NEW.contract_version_id ORDER BY id DESC LIMIT 1;
    IF NEW.party = 'customer' AND signatory <> NEW.user_id THEN
        {refuse("acceptance.delegated", "The signature was delegated to another signatory.")}
    END IF;
    SELECT signing_order INTO first_party FROM engagements_contractversion
        WHERE id = NEW.contract_version_id;
    IF first_party NOT IN ('any', NEW.party) AND NOT EXISTS (
        SELECT 1 FROM engagements_acceptance
        WHERE contract_version_id = NEW.contract_version_id AND party = first_party
    ) THEN
        {refuse("acceptance.order", "The other party signs these terms first.")}
    END IF;
    RETURN NEW;
    """,
)

CHECK_DELEGATION = Trigger(
    name="delegable",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_contractversion version
        JOIN engagements_engagement engagement ON engagement.id = version.engagement_id
        JOIN engagements_membership membership
          ON membership.customer_id = engagement.customer_id AND membership.rights = 'signatory'
        WHERE version.id = NEW.contract_version_id AND version.state = 'offered'
          AND membership.user_id = NEW.delegate_id
          AND NOT EXISTS (
              SELECT 1 FROM engagements_acceptance
              WHERE contract_version_id = version.id AND party = 'customer'
          )
    ) THEN
        {
        refuse(
            "delegation.delegable",
            "An unsigned offer is delegated to a signatory of its customer.",
        )
    }
    END IF;
    RETURN NEW;
    """,
)


def freeze_parts(
    name: str = "sealed", operation: Operation = WRITES, condition: Condition | None = None
) -> Trigger:
    """A trigger that freezes a part of the terms once its version is sealed."""
    return Trigger(
        name=name,
        when=pgtrigger.Before,
        operation=operation,
        condition=condition,
        func=f"""
        IF EXISTS (SELECT 1 FROM engagements_contractversion
                   WHERE id IN (OLD.contract_version_id, NEW.contract_version_id)
                     AND sealed_at IS NOT NULL) THEN
            {refuse("contract.sealed_parts", "The parts of a sealed contract cannot be changed.")}
        END IF;
        RETURN coalesce(NEW, OLD);
        """,
    )


# Only the repeat of an acceptance run revives void milestones, or takes a release back.
CHECK_REINSTATED = Trigger(
    name="reinstated",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=Condition(
        "OLD.state = 'void' AND NEW.state IN ('pending', 'released')"
        " OR OLD.state = 'released' AND NEW.state = 'pending'"
    ),
    func=f"""
    IF NOT EXISTS (
        SELECT 1 FROM engagements_engagementrun run
        JOIN engagements_contractversion contract ON contract.engagement_id = run.engagement_id
        WHERE contract.id = NEW.contract_version_id AND run.repeat_verdict <> ''
          AND (OLD.state = 'void' OR run.repeat_verdict <> 'met')
    ) THEN
        {refuse("milestone.reinstated", "Only the repeat of a run reinstates a milestone.")}
    END IF;
    RETURN NEW;
    """,
)
