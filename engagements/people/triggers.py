"""Count changes of access, and require two people for money, whatever writes the rows."""

from __future__ import annotations

import pgtrigger
from pgtrigger.core import Condition, Operation

from benchmarks.triggers import CHANGES, IS_SITE_ROLE, OwnersTrigger, Trigger, refuse

# The count never falls: an older copy of the row may be saved late.
COUNT_ACCESS_CHANGES = Trigger(
    name="count_access_changes",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    func="""
    NEW.access_changes := GREATEST(NEW.access_changes, OLD.access_changes);
    IF (OLD.email, OLD.role, OLD.is_active, OLD.is_staff)
        IS DISTINCT FROM (NEW.email, NEW.role, NEW.is_active, NEW.is_staff)
    THEN
        NEW.access_changes := OLD.access_changes + 1;
    END IF;
    RETURN NEW;
    """,
)

COUNT_MEMBERSHIP_CHANGES = Trigger(
    name="count_access_changes",
    when=pgtrigger.After,
    operation=CHANGES,
    func="""
    IF TG_OP = 'DELETE' OR (OLD.user_id, OLD.customer_id, OLD.rights)
        IS DISTINCT FROM (NEW.user_id, NEW.customer_id, NEW.rights)
    THEN
        UPDATE engagements_user SET access_changes = access_changes + 1 WHERE id = OLD.user_id;
    END IF;
    RETURN NULL;
    """,
)

# The site's role writes no role "finance": the confirmation of a grant does, as the owner. With a
# new address another person could sign in with this role, so the role ends.
GRANT_FINANCE_BY_TWO = Trigger(
    name="finance_by_two",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert | pgtrigger.Update,
    condition=pgtrigger.Q(new__role="finance"),
    func=f"""
    IF {IS_SITE_ROLE} AND (
        TG_OP = 'INSERT' OR (OLD.role, OLD.email) IS DISTINCT FROM (NEW.role, NEW.email)
    ) THEN
        {refuse("user.finance_by_two", "An admin and two people of finance give the finance role.")}
    END IF;
    RETURN NEW;
    """,
)

# The person who confirms has the finance role at that moment.
CONFIRMED_BY_FINANCE = Trigger(
    name="confirmed_by_finance",
    when=pgtrigger.Before,
    operation=pgtrigger.Update,
    condition=pgtrigger.Q(new__confirmed_by__isnull=False),
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_user WHERE is_active AND role = 'finance'
                   AND id = coalesce(NEW.granted_by_id, NEW.confirmed_by_id)) THEN
        {refuse("financegrant.confirmed_by_finance", "People of finance confirm this role.")}
    END IF;
    RETURN NEW;
    """,
)

# The proposer is still an admin, and both who confirm are still of finance.
GIVE_FINANCE_ROLE = OwnersTrigger(
    name="give_role",
    when=pgtrigger.After,
    operation=pgtrigger.Update,
    condition=pgtrigger.Condition("OLD.granted_by_id IS NULL AND NEW.granted_by_id IS NOT NULL"),
    func=f"""
    IF (SELECT count(*) FROM engagements_user WHERE is_active AND (
            (id = NEW.proposed_by_id AND role = 'admin')
            OR (id IN (NEW.confirmed_by_id, NEW.granted_by_id) AND role = 'finance')))
        <> (CASE NEW.confirmed_by_id WHEN NEW.granted_by_id THEN 2 ELSE 3 END) THEN
        {refuse("financegrant.give_role", "An admin proposes, and two of finance confirm.")}
    END IF;
    UPDATE engagements_user SET role = 'finance', is_staff = false, is_superuser = false
        WHERE id = NEW.user_id;
    RETURN NULL;
    """,
)

ONLY_SOLE_OWNER = Trigger(
    name="sole_owner",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    func=f"""
    IF NOT EXISTS (SELECT 1 FROM engagements_soleowner WHERE user_id = NEW.by_id) THEN
        {refuse("soleapproval.sole_owner", "Nobody approves alone.")}
    END IF;
    RETURN NEW;
    """,
)

CONFIRMED_BY_SIGNATORY = Trigger(
    name="signatory",
    when=pgtrigger.Before,
    operation=pgtrigger.Insert,
    declare=[("member", "record")],
    func=f"""
    SELECT membership.is_independent, adder.role INTO member FROM engagements_membership membership
        JOIN engagements_user person ON person.id = membership.user_id
        JOIN engagements_bankaccount account ON account.customer_id = membership.customer_id
        LEFT JOIN engagements_user adder ON adder.id = account.added_by_id
        WHERE account.id = NEW.account_id AND person.id = NEW.confirmed_by_id
            AND membership.rights = 'signatory' AND person.is_active AND person.role = '';
    IF NOT FOUND THEN
        {
        refuse(
            "bankaccountconfirmation.signatory",
            "A signatory of the customer confirms its bank account.",
        )
    }
    END IF;
    IF member.role = '' AND NOT member.is_independent THEN
        {
        refuse(
            "bankaccountconfirmation.independent",
            "Finance proposes the account to a signatory whom the consultancy appointed.",
        )
    }
    END IF;
    RETURN NEW;
    """,
)


def by_finance(model: str, *columns: str) -> Trigger:
    """Return a trigger that refuses all but active people of finance in these columns.

    Those who acted before may have left since: only what a statement changes is checked.
    """
    acts = " OR ".join(
        f"(NEW.{name} IS DISTINCT FROM OLD.{name} AND NEW.{name} IS NOT NULL AND NOT EXISTS"
        f" (SELECT 1 FROM engagements_user WHERE id = NEW.{name} AND is_active"
        " AND role = 'finance'))"
        for name in columns
    )
    return Trigger(
        name="finance",
        when=pgtrigger.Before,
        operation=pgtrigger.Insert | pgtrigger.Update,
        func=f"""
    IF {acts} THEN
        {refuse(f"{model}.finance", "Only finance may do this.")}
    END IF;
    RETURN NEW;
    """,
    )


def second_person(
    *,
    name: str,
    code: str,
    by: str,
    others: tuple[str, ...],
    subject: str,
    operation: Operation,
    condition: Condition | None = None,
) -> Trigger:
    """Return a trigger that refuses `by` where it equals one of `others`.

    All are SQL expressions, of users' ids; `subject` is the SQL of the text that a sole owner's
    approval refers to, such as 'settlement:17'. See `engagements.people.second_person`.
    """
    return Trigger(
        name=name,
        when=pgtrigger.Before,
        operation=operation,
        condition=condition,
        func=f"""
    IF {by} IN ({", ".join(others)}) AND NOT EXISTS (
        SELECT 1 FROM engagements_soleapproval WHERE subject = {subject} AND by_id = {by}
    ) THEN
        {refuse(code, "A second person must do this.")}
    END IF;
    RETURN NEW;
    """,
    )
