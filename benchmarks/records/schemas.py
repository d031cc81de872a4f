"""JSON Schema building blocks, and one readable sentence for a violation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

Schema = dict[str, Any]
# An untrusted file may have as many errors as bytes; report the best of so many.
_MOST_ERRORS = 100

TEXT: Schema = {"type": "string", "minLength": 1}
DIGEST: Schema = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
COUNT: Schema = {"type": "integer", "minimum": 0}
POSITIVE_COUNT: Schema = {"type": "integer", "minimum": 1}
NUMBER: Schema = {"type": "number"}
POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
NOT_NEGATIVE: Schema = {"type": "number", "minimum": 0}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
DEVICE: Schema = {"enum": ["cpu", "cuda"]}
SIDE: Schema = {"enum": ["baseline", "candidate"]}


def nullable(schema: Schema) -> Schema:
    """`schema`, or null for 'not measured'.

    Without `anyOf`, which lists every error below it: minutes for a million wrong entries.
    """
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}


def exactly(*, optional: Sequence[str] = (), **fields: Schema) -> Schema:
    """An object with exactly these fields; those in `optional` may be absent."""
    return {
        "type": "object",
        "properties": fields,
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


def listed(schema: Schema, *, at_least: int = 0) -> Schema:
    """A list of `schema`."""
    return {"type": "array", "items": schema, "minItems": at_least}


def by_name(schema: Schema) -> Schema:
    """An object whose values are all `schema`."""
    return {"type": "object", "additionalProperties": schema}


def published(schema: Schema, *, name: str, title: str) -> Schema:
    """`schema` as a document under its versioned name, such as `twofold.record/1`."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{name.replace('.', ':').replace('/', ':')}",
        "title": f"{title} ({name})",
        **schema,
    }


def violation(document: Any, schema: Schema) -> str | None:
    """The first violation of `schema` by `document`, in one line; None when it conforms."""
    errors = Draft202012Validator(schema).iter_errors(document)
    error = best_match(islice(errors, _MOST_ERRORS))
    if error is None:
        return None
    text = error.message.replace("\n", " ")
    return f"{error.json_path}: {text[:300]}"
