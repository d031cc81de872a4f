"""A form field of rows, each with the same cells: dates from a picker, names, numbers."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from django import forms
from django.core.exceptions import ValidationError

from engagements.common.text import strip_invisible

MOST_ROWS = 50
# Empty rows after the filled ones; a script adds more.
SPARE_ROWS = 2

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of every row. `kind` is the type of its value; an optional one may be None."""

    name: str
    label: str
    kind: Literal["text", "date", "number", "whole"] = "text"
    is_required: bool = True
    placeholder: str = ""

    def parse(self, typed: str, number: int) -> Any:
        """Parse the text of this cell in row `number`, counted from 1."""
        text = strip_invisible(typed).strip()
        if not text:
            if self.is_required:
                self._refuse(number, "enter", "row.missing")
            return None
        try:
            match self.kind:
                case "date":
                    return dt.date.fromisoformat(text)
                case "whole":
                    return self._positive(float(int(text)), int(text))
                case "number":
                    value = float(text.replace(",", "."))
                    return self._positive(value, value)
        except ValueError:
            self._refuse(number, "correct", f"row.{self.kind}")
        return text

    @staticmethod
    def _positive(value: float, kept: Any) -> Any:
        if not 0 <= value < 1e12 or not math.isfinite(value):
            raise ValueError("out of range")
        return kept

    def _refuse(self, number: int, verb: str, code: str) -> None:
        such_as = f", such as {self.placeholder}" if self.placeholder else ""
        label = self.label[0].lower() + self.label[1:]
        raise ValidationError(f"Row {number}: {verb} the {label}{such_as}.", code=code)


class RowsInput(forms.Widget):
    """A grid of inputs; spare rows follow the filled ones."""

    template_name = "fragments/_rows_input.html"
    use_fieldset = True

    def __init__(self, cells: tuple[Cell, ...]) -> None:
        super().__init__()
        self.cells = cells

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Add the rows with the name and value of each input."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        filled = list(value or [])
        rows = [*filled, *({} for _ in range(SPARE_ROWS))][: max(MOST_ROWS, len(filled))]
        context["rows"] = [
            [
                {
                    "cell": cell,
                    "name": f"{name}-{at}-{cell.name}",
                    "value": self._shown(row.get(cell.name)),
                }
                for cell in self.cells
            ]
            for at, row in enumerate(rows)
        ]
        context["cells"] = self.cells
        return context

    @staticmethod
    def _shown(value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, dt.date):
            return value.isoformat()
        return f"{value:g}" if isinstance(value, float) else str(value)

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[Row]:
        """Return the typed texts of the rows that have any."""
        rows = [
            {cell.name: str(data.get(f"{name}-{at}-{cell.name}", "")) for cell in self.cells}
            for at in range(MOST_ROWS)
        ]
        return [row for row in rows if any(text.strip() for text in row.values())]

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        """Whether no input was sent. Rows may be empty, so one is never assumed."""
        return not any(key.startswith(f"{name}-") for key in data)


class RowsField(forms.Field):
    """A field of rows. The cleaned value is a list of dicts by the names of the cells."""

    def __init__(self, *cells: Cell, **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        super().__init__(widget=RowsInput(cells), **kwargs)
        self.cells = cells

    def clean(self, value: Any) -> list[Row]:
        """Parse every row. ValidationError names the row, counted from 1."""
        rows = value or []
        if self.required and not rows:
            raise ValidationError("Fill in at least one row.", code="row.missing")
        return [
            {cell.name: cell.parse(row[cell.name], number) for cell in self.cells}
            for number, row in enumerate(rows, start=1)
        ]
