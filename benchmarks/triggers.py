"""Triggers by which the database refuses a write, declared in a model's `Meta.triggers`.

They are pgtrigger's, with two differences. A refusal is an `IntegrityError` whose constraint name
is a code, `model.trigger` as in "audit.delivered": callers and tests match that. And no session
setting switches them off: pgtrigger's own ask `pgtrigger.ignore`, which any role may set.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import pgtrigger
from django.db import models
from pgtrigger import compiler

WRITES = pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete
CHANGES = pgtrigger.Update | pgtrigger.Delete

State = TypeVar("State", bound=str)


class TriggerSql(compiler.UpsertTriggerSql):
    """The statements that make a trigger and its function. Migrations refer to this class."""

    rights = ""

    def get_template(self) -> str:
        return f"""
CREATE OR REPLACE FUNCTION {{pgid}}() RETURNS trigger LANGUAGE plpgsql {self.rights} AS $$
{{declare}}
BEGIN
    {{func}}
END $$;
DROP TRIGGER IF EXISTS {{pgid}} ON {{table}};
CREATE {{constraint}} TRIGGER {{pgid}} {{when}} {{operation}} ON {{table}}
    {{timing}} {{referencing}} FOR EACH {{level}} {{condition}} EXECUTE FUNCTION {{execute}};
COMMENT ON TRIGGER {{pgid}} ON {{table}} IS '{{hash}}';
"""


class OwnersTriggerSql(TriggerSql):
    """A function with the rights of the tables' owner: the site's role may not write its table.

    The search path is fixed, so that no other schema can shadow a table.
    """

    rights = "SECURITY DEFINER SET search_path = public, pg_temp"


def refuse(code: str, message: str, *values: str) -> str:
    """The PL/pgSQL statement that refuses a write. Each % in `message` is one of `values`."""
    arguments = "".join(f", {value}" for value in values)
    return f"RAISE EXCEPTION '{message}'{arguments} {_using(code)};"


def _using(code: str) -> str:
    return f"USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = '{code}'"


class Trigger(pgtrigger.Trigger):
    """A trigger with a function of its own, which refuses by `refuse`."""

    sql_class: type[TriggerSql] = TriggerSql

    def compile(self, model: models.Model) -> compiler.Trigger:
        options: dict[str, Any] = dict(super().compile(model).sql.kwargs)
        del options["ignore_func_name"]
        return compiler.Trigger(name=self.name, sql=self.sql_class(**options))

    def render_func(self, model: models.Model) -> str:
        """The function's body. What pgtrigger itself raises gets its code here."""
        using = _using(f"{model._meta.model_name}.{self.name}")
        return super().render_func(model).replace("TG_TABLE_NAME;", f"TG_TABLE_NAME {using};")


class OwnersTrigger(Trigger):
    """A trigger that writes a table which only the database writes."""

    sql_class = OwnersTriggerSql


class Protect(Trigger, pgtrigger.Protect):
    """Refuse an operation, on rows that meet `condition`."""


class AppendOnly(Protect):
    """Rows are added, and neither changed nor deleted."""

    name = "append_only"
    operation = CHANGES


class WrittenByTriggers(Protect):
    """Only other triggers write rows: a statement of one's own has a depth of 0."""

    name = "written_by_triggers"
    operation = WRITES
    condition = pgtrigger.Condition("pg_trigger_depth() = 0")


# True for the role of the site, which owns no table; see consultancy/database_role.py.
IS_SITE_ROLE = """NOT pg_has_role(
        current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'USAGE')"""


class WrittenByOwner(Trigger):
    """Only the owner of the tables writes rows, by a management command."""

    name = "written_by_owner"
    operation = WRITES
    when = pgtrigger.Before

    def get_func(self, model: models.Model) -> str:
        code = f"{model._meta.model_name}.{self.name}"
        return f"""
    IF {IS_SITE_ROLE} THEN
        {refuse(code, "Only the owner of the database writes this table.")}
    END IF;
    RETURN coalesce(NEW, OLD);
    """


class ReadOnly(Trigger, pgtrigger.ReadOnly):
    """Refuse changes of `fields`, or of all but `exclude`, on rows that meet `condition`."""

    def get_condition(self, model: models.Model) -> pgtrigger.Condition:
        change = super().get_condition(model).resolve(model)
        if self.condition is None:
            return pgtrigger.Condition(change)
        return pgtrigger.Condition(f"(({self.condition.resolve(model)}) AND ({change}))")


class FSM(Trigger, pgtrigger.FSM):
    """Allow a field only the given moves, by the value that they begin with."""

    def __init__(self, field: str, moves: Mapping[State, Collection[State]]) -> None:
        pairs = [(str(old), str(new)) for old, allowed in moves.items() for new in sorted(allowed)]
        super().__init__(name=f"{field}_move", field=field, transitions=pairs)
