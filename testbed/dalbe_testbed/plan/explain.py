# SPDX-License-Identifier: GPL-2.0-only
"""Explains in one line what is wrong with a file: the key, its value, the values allowed.

Pydantic says what failed, the model's JSON schema what would not have.
"""

import difflib
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from dalbe_testbed.errors import TestbedError

Schema = dict[str, Any]
Checked = TypeVar("Checked", bound=BaseModel)
KINDS = {
    "number": "a number",
    "integer": "a whole number",
    "string": "a string",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
}
BOUNDS = {
    "minimum": "at least {:.10g}",
    "exclusiveMinimum": "above {:.10g}",
    "maximum": "at most {:.10g}",
    "exclusiveMaximum": "below {:.10g}",
    "minItems": "of at least {}",
    "maxItems": "of at most {}",
    "pattern": "that matches {}",
}


def quoted(words: Iterable[str]) -> str:
    """Return "'a', 'b' or 'c'"."""
    *most, last = (f"'{word}'" for word in words)
    return f"{', '.join(most)} or {last}" if most else last


@cache
def _schema(model: type[BaseModel]) -> Schema:
    return model.model_json_schema()


def _resolve(node: Schema, root: Schema) -> Schema:
    if "anyOf" in node:  # a value, or null where there is none
        node = next(option for option in node["anyOf"] if option.get("type") != "null")
    return root["$defs"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node


def _schema_at(loc: Sequence[str | int], root: Schema) -> Schema:
    """Return the schema of what is at `loc`; {} where anything goes.

    Of a key that is wrong itself pydantic says "[key]" behind it; its schema is a pattern.
    """
    node = root
    for part in loc:
        patterns = node.get("patternProperties", {})
        if loc[-1] == "[key]" and part == loc[-2]:
            return {"type": "string", "pattern": next(iter(patterns))}
        if isinstance(part, int):
            inner = node.get("items", {})
        else:
            others = node.get("additionalProperties")
            inner = node.get("properties", {}).get(part) or next(
                iter(patterns.values()), others if isinstance(others, dict) else {}
            )
        node = _resolve(inner, root)
    return node


def _allowed(node: Schema) -> str:
    """Say in words which values a schema allows."""
    if "enum" in node:
        return quoted(node["enum"])
    bounds = [text.format(node[key]) for key, text in BOUNDS.items() if key in node]
    kind = KINDS.get(node.get("type", ""), "another value")
    return " ".join([kind, " and ".join(bounds)]).strip()


def _shown(value: object) -> str:
    """Write a value as the file has it; tables and lists only as what they are."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "a table"
        case list():
            return f"a list of {len(value)}"
        case str():
            return f"'{value}'"
    return str(value)


def _key(loc: Sequence[str | int], data: Any) -> str:
    """Write a location as --set does: items are named, or counted from 1 if they have no name."""
    parts = []
    for part in loc:
        try:
            data = data[part]
        except (KeyError, TypeError):
            data = None
        if isinstance(part, int):
            name = data.get("name") if isinstance(data, dict) else None
            parts.append(name if isinstance(name, str) else f"(number {part + 1})")
        elif part != "[key]":
            parts.append(part)
    return ".".join(parts)


def _explain(error: ValidationError, model: type[BaseModel], data: object, where: str) -> str:
    """Return one line for the first of the errors that `model` found in `data`.

    `where` names the file. An unknown key comes first: it is often why another is missing.
    """
    first, *more = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
    loc, root = first["loc"], _schema(model)
    match first["type"]:
        case "extra_forbidden":
            keys = list(_schema_at(loc[:-1], root).get("properties", {}))
            close = difflib.get_close_matches(str(loc[-1]), keys, 1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            message = f"unknown key; {hint}there are: {', '.join(keys)}"
        case "missing":
            message = f"missing; give {_allowed(_schema_at(loc, root))}"
        case "value_error":
            message = first["msg"].removeprefix("Value error, ")
        case _:
            allowed = _allowed(_schema_at(loc, root))
            message = f"{_shown(first['input'])} is not allowed; give {allowed}"
    rest = f" (and {len(more)} more)" if more else ""
    return ": ".join(filter(None, [where, _key(loc, data), message])) + rest


def validate(model: type[Checked], data: object, where: str) -> Checked:
    """Return `data` as a model; where: the file in messages. Raises TestbedError."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise TestbedError(_explain(error, model, data, where)) from None


def read(path: Path) -> dict[str, Any]:
    """Return what a TOML file says. Raises TestbedError."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TestbedError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise TestbedError(f"{path}: not TOML: byte {error.start} is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise TestbedError(f"{path}: not TOML: {error}") from None
