"""What may be configured: a struct of Python's as the specification an agent parses HCL by, and back.

An agent asks a plugin for the schema of its configuration and of its tasks', parses the `config` blocks of
its users by it, and hands the values over as MessagePack (nomad, plugins/shared/hclspec/hcl_spec.proto).
Here the schema is a `msgspec.Struct`: text, numbers and truth values are attributes, a struct is a block, a
list of structs a block that may be there several times. What is not set comes as nil, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

from stormpool.errors import Misuse
from stormpool.goplugin.protos import hcl

END = object()  # of a list or an object
PRIMITIVE = {str: "string", int: "number", float: "number", bool: "bool"}

Config = TypeVar("Config", bound=msgspec.Struct)
# Of an expression in HCL; commas and line ends part.
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\w.+-]+|[][{}=:]')


def spec_of(config: type[msgspec.Struct]) -> Any:
    """The specification (`hclspec.Spec`) of a struct. Raises `TypeError` for a field HCL has no type for."""
    fields = msgspec.structs.fields(config)
    return hcl.Spec(object=hcl.Object(attributes={each.encode_name: _field(each) for each in fields}))


def decode(data: bytes, config: type[Config]) -> Config:
    """A configuration as an agent hands it over. Raises `msgspec.ValidationError` where it is another."""
    given = msgspec.msgpack.decode(data) if data else {}
    return msgspec.convert(_set(given or {}), config, strict=False)


def encode(config: msgspec.Struct | dict[str, Any]) -> bytes:
    """A configuration as an agent would hand it over."""
    return msgspec.msgpack.encode(config)


def _set(value: Any) -> Any:
    """What is set: agents send nil for what is not."""
    if isinstance(value, dict):
        return {name: _set(each) for name, each in value.items() if each is not None}
    return [_set(each) for each in value] if isinstance(value, list) else value


def _field(field: msgspec.structs.FieldInfo) -> Any:
    name, kind = field.encode_name, _without_none(field.type)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return hcl.Spec(block_value=hcl.Block(name=name, required=field.required, nested=spec_of(kind)))
    element = next(iter(get_args(kind)), None)
    if get_origin(kind) is list and isinstance(element, type) and issubclass(element, msgspec.Struct):
        return hcl.Spec(block_list=hcl.BlockList(name=name, nested=spec_of(element)))
    return hcl.Spec(Attr=hcl.Attr(name=name, type=_type(kind), required=field.required))


def _without_none(kind: Any) -> Any:
    """What a field is where it is set: of `Block | None` the block."""
    given = [each for each in get_args(kind) if each is not type(None)]
    return given[0] if get_origin(kind) in (UnionType, Union) and len(given) == 1 else kind


def _type(kind: Any) -> str:
    """The name of a type in HCL."""
    arguments = get_args(kind)
    if get_origin(kind) is list:
        return f"list({_type(arguments[0])})"
    if get_origin(kind) is dict and arguments[0] is str:
        return f"map({_type(arguments[1])})"
    if kind not in PRIMITIVE:
        raise TypeError(
            f"{kind} has no counterpart in HCL: take text, a number, bool, or list or dict of these"
        )
    return PRIMITIVE[kind]


def complete(spec: Any, given: Any) -> Any:
    """What an agent makes of a configuration by a specification (`hclspec.Spec`): defaults, nil for the rest.

    Raises `Misuse` for what is missing, and for what the specification does not have.
    """
    body, known = given or {}, list(_names(spec, ""))
    if unknown := {*body} - {*known}:
        raise Misuse(
            f"the plugin knows no {', '.join(sorted(unknown))} in its configuration",
            fix="leave it out, or take one of: " + ", ".join(sorted(known)),
        )
    return _part(spec, body, "")


def _part(spec: Any, body: Mapping[str, Any], otherwise: str) -> Any:
    """The value of a part; those of objects and arrays are looked up in the same body (hcldec, spec.go)."""
    kind = spec.WhichOneof("block")
    if kind == "object":
        return {name: _part(each, body, name) for name, each in spec.object.attributes.items()}
    if kind == "array":
        return [_part(each, body, "") for each in spec.array.values]
    if kind == "default":
        value = _part(spec.default.primary, body, otherwise)
        return _part(spec.default.default, body, "") if value is None else value
    if kind == "literal":
        return expression(spec.literal.value)
    if kind is None:
        return {}
    block = getattr(spec, kind)
    return _block(kind, block, body.get(block.name or otherwise))


def _block(kind: str, block: Any, given: Any) -> Any:
    """The value of an attribute or of a block."""
    if given is None:
        if getattr(block, "required", False) or getattr(block, "min_items", 0):
            raise Misuse(f"the plugin's configuration lacks {block.name}", fix=f"give {block.name}")
        return {"block_list": [], "block_set": [], "block_map": {}}.get(kind)
    if kind == "block_value":
        return complete(block.nested, given)
    if kind in ("block_list", "block_set"):
        return [complete(block.nested, each) for each in given]
    if kind == "block_map":
        return _labelled(block.nested, given, len(block.labels))
    return given


def _labelled(nested: Any, given: Mapping[str, Any], labels: int) -> dict[str, Any]:
    """Blocks by their labels, a map in another for each label more."""
    if labels > 1:
        return {label: _labelled(nested, each, labels - 1) for label, each in given.items()}
    return {label: complete(nested, each) for label, each in given.items()}


def _names(spec: Any, otherwise: str) -> Iterator[str]:
    """What the parts of a specification are called in the body that they are looked up in."""
    kind = spec.WhichOneof("block")
    if kind == "object":
        for name, each in spec.object.attributes.items():
            yield from _names(each, name)
    elif kind == "array":
        for each in spec.array.values:
            yield from _names(each, "")
    elif kind == "default":
        yield from _names(spec.default.primary, otherwise)
        yield from _names(spec.default.default, "")
    elif kind not in (None, "literal"):
        yield getattr(spec, kind).name or otherwise


def expression(text: str) -> Any:
    """The value of a literal of HCL: text, a number, a truth value, null, a list, an object."""
    return _value(iter(TOKEN.findall(text)))


def _value(tokens: Iterator[str]) -> Any:
    token = next(tokens)
    if token == "[":
        return list(iter(lambda: _value(tokens), END))
    if token == "{":
        return dict(iter(lambda: _entry(tokens), END))
    if token in ("]", "}"):
        return END
    return msgspec.json.decode(token)


def _entry(tokens: Iterator[str]) -> Any:
    name = next(tokens)
    if name == "}":
        return END
    next(tokens)  # the sign between
    return name.strip('"'), _value(tokens)
