# SPDX-License-Identifier: GPL-2.0-only
"""Explains in one line what is wrong with a file: the key, its value, the values allowed.

Pydantic words it; Model, the base of all schemas, adds which keys there are.
"""

import difflib
import reprlib
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from dalbe_testbed.errors import TestbedError

Checked = TypeVar("Checked")
UNKNOWN = "unknown_key"


class Model(BaseModel):
    """Base of the schema: TOML's types as they are, unknown keys are errors, all is final."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _knows_keys(cls, data: Any) -> Any:
        """Refuse an unknown key. A missing one is None, for which pydantic says what it may be."""
        if not isinstance(data, dict):
            return data
        for key in data:
            if key not in cls.model_fields:
                close = difflib.get_close_matches(str(key), cls.model_fields, 1)
                hint = f"did you mean '{close[0]}'? " if close else ""
                known = ", ".join(cls.model_fields)
                message = f"unknown key; {hint}there are: {known}"
                raise PydanticCustomError(UNKNOWN, "{message}", {"message": message, "key": key})
        missing = [key for key, field in cls.model_fields.items() if field.is_required()]
        return dict.fromkeys(missing) | data

    def _faults(self) -> Iterator[str]:
        """Yield what is wrong between values each of which is allowed; only the first is said."""
        yield from ()

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        for fault in self._faults():
            raise ValueError(fault)
        return self


def quoted(words: Iterable[str]) -> str:
    """Return "'a', 'b' or 'c'"."""
    *most, last = (f"'{word}'" for word in words)
    return f"{', '.join(most)} or {last}" if most else last


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


def _explain(error: ValidationError, data: object, where: str) -> str:
    """Return one line for the first of the errors in `data`; where: the file.

    An unknown key comes first: it is often why another is missing.
    """
    first, *more = sorted(error.errors(), key=lambda e: e["type"] != UNKNOWN)
    loc, message = first["loc"], first["msg"]
    match first:
        case {"type": "unknown_key", "ctx": {"key": key}}:
            loc = (*loc, key)
        case {"type": "value_error"}:
            message = message.removeprefix("Value error, ")
        case {"input": None}:
            message = f"missing; {message[0].lower()}{message[1:]}"
        case {"input": given}:
            message = f"{reprlib.repr(given)} is not allowed; {message[0].lower()}{message[1:]}"
    rest = f" (and {len(more)} more)" if more else ""
    return ": ".join(filter(None, [where, _key(loc, data), message])) + rest


def validate(model: type[Checked], data: object, where: str) -> Checked:
    """Return `data` as a `model`; where: the file in messages. Raises TestbedError."""
    try:
        return TypeAdapter(model).validate_python(data)
    except ValidationError as error:
        raise TestbedError(_explain(error, data, where)) from None


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
