"""What agents refuse in a specification of a configuration (nomad, helper/pluginutils/hclspecutils/dec.go).

They refuse all of it then: an agent does not start with such a plugin, and no task does with such a driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

PRIMITIVE = ("string", "number", "bool", "any")
OF_ONE = ("list", "set", "map")
NAMED = ("Attr", "block_attrs", "block_list", "block_set", "block_map")  # a block_value needs no name
NESTING = ("block_value", "block_list", "block_set", "block_map")
# Of the expression of a type (hclspecutils/type_expr.go): words, text, signs, line ends.
TOKEN = re.compile(r'[\w-]+|"[^"]*"|\n|[^\s]')
ENTRY = re.compile(r'[\w-]+|"[^"]*"')
BRACES = {"(": ")", "[": "]", "{": "}"}


def refused(spec: Any, where: str, implied: str = "") -> Iterator[tuple[str, str]]:
    """What agents refuse in a specification (`hclspec.Spec`), and where; `implied`: its name by its place."""
    kind = spec.WhichOneof("block")
    if kind is None:
        yield where, "is a Spec in which no kind is set: Invalid spec block"
    elif kind == "object":
        for name, each in spec.object.attributes.items():
            yield from refused(each, f"{where}.{name}", name)
    elif kind == "array":
        for number, each in enumerate(spec.array.values):
            yield from refused(each, f"{where}[{number}]")
    elif kind == "default":
        yield from refused(spec.default.primary, where)
        yield from refused(spec.default.default, f"the default of {where}")
    elif kind != "literal":
        yield from _refused_of(kind, getattr(spec, kind), where, implied)


def _refused_of(kind: str, block: Any, where: str, implied: str) -> Iterator[tuple[str, str]]:
    """The same, of an attribute or a block."""
    if kind in NAMED and not (block.name or implied):
        yield where, "has no name"
    if kind in ("Attr", "block_attrs") and not is_type(block.type):
        yield where, f"is of type {block.type!r}, which is none"
    if kind == "block_map" and not block.labels:
        yield where, "is a block_map without a label"
    if kind in NESTING:
        yield from refused(block.nested, f"{where}.{block.name}")


def is_type(text: str) -> bool:
    """Whether text is a type: string, number, bool, any, list(), set(), map(), tuple([]), object({})."""
    tokens = _Tokens(text)
    if text.strip() == "null":
        return True  # any
    return tokens.type() and tokens.next() == ""


class _Tokens:
    """The tokens of a type. Line ends count between braces alone, where they part entries."""

    def __init__(self, text: str) -> None:
        self._left = TOKEN.findall(text)

    def next(self) -> str:
        """The next token that is no line end; empty at the end."""
        self._skip()
        return self._left.pop(0) if self._left else ""

    def type(self) -> bool:
        """Whether a type comes next."""
        word = self.next()
        if word == "(":
            return self.type() and self.next() == ")"
        if word in PRIMITIVE:
            return True
        if self.next() != "(":
            return False
        if word in OF_ONE:
            found = self.type()
        else:
            found = self._many("[") if word == "tuple" else word == "object" and self._many("{")
        return found and self._after(",") == ")"

    def _many(self, opening: str) -> bool:
        """Whether a list of types comes next, or a map of them."""
        if self.next() != opening:
            return False
        while not self._comes(BRACES[opening]):
            if opening == "{" and not (ENTRY.fullmatch(self.next()) and self.next() in ("=", ":")):
                return False
            if not (self.type() and self._parted(opening)):
                return False
        return self.next() == BRACES[opening]

    def _parted(self, opening: str) -> bool:
        """Whether an entry ends here: before a comma or the end, and in braces at a line end."""
        if opening == "{" and self._left[:1] == ["\n"]:
            return True
        if self._comes(","):
            self.next()
            return True
        return self._comes(BRACES[opening])

    def _after(self, sign: str) -> str:
        """What comes next, after a sign that may be there or not."""
        token = self.next()
        return self.next() if token == sign else token

    def _comes(self, token: str) -> bool:
        self._skip()
        return self._left[:1] == [token]

    def _skip(self) -> None:
        while self._left[:1] == ["\n"]:
            self._left.pop(0)
