"""What an agent makes of a configuration by a specification."""

from typing import Any

import pytest

from stormpool.errors import Misuse
from stormpool.goplugin import schema
from stormpool.goplugin.protos import hcl


def attr(name: str = "", *, required: bool = False) -> Any:
    return hcl.Spec(Attr=hcl.Attr(name=name, type="string", required=required))


def several(**parts: Any) -> Any:
    return hcl.Spec(object=hcl.Object(attributes=parts))


def block_map(*labels: str) -> Any:
    return hcl.Spec(block_map=hcl.BlockMap(name="m", labels=labels, nested=several(a=attr())))


@pytest.mark.parametrize(
    ("spec", "given", "made"),
    [
        (several(a=attr(), b=attr("c")), {"c": "x"}, {"a": None, "b": "x"}),
        (several(m=block_map("l")), {}, {"m": {}}),
        (several(m=block_map("l")), {"m": {"x": {"a": "1"}}}, {"m": {"x": {"a": "1"}}}),
        (several(m=block_map("l", "k")), {"m": {"x": {"y": {}}}}, {"m": {"x": {"y": {"a": None}}}}),
        (several(s=hcl.Spec(array=hcl.Array(values=[attr("q"), attr("r")]))), {}, {"s": [None, None]}),
        (several(s=hcl.Spec(array=hcl.Array(values=[attr("q"), attr("r")]))), {"r": "x"}, {"s": [None, "x"]}),
        (several(o=several(a=attr())), {"a": "x"}, {"o": {"a": "x"}}),
        (several(v=hcl.Spec(block_list=hcl.BlockList(name="v", nested=several(a=attr())))), {}, {"v": []}),
        (several(v=hcl.Spec(block_value=hcl.Block(name="v", nested=several(a=attr())))), {}, {"v": None}),
        (several(v=hcl.Spec(block_attrs=hcl.BlockAttrs(name="v", type="string"))), {}, {"v": None}),
        (
            several(
                d=hcl.Spec(
                    default=hcl.Default(primary=attr("d"), default=hcl.Spec(literal=hcl.Literal(value="3")))
                )
            ),
            {},
            {"d": 3},
        ),
    ],
)
def test_what_is_not_given_is_completed(spec: Any, given: dict[str, Any], made: dict[str, Any]) -> None:
    assert schema.complete(spec, given) == made


@pytest.mark.parametrize(
    ("spec", "given", "said"),
    [
        (several(a=attr("a", required=True)), {}, "lacks a"),
        (several(s=hcl.Spec(array=hcl.Array(values=[attr("q")]))), {"s": "x"}, "knows no s"),
        (several(m=block_map("l")), {"m": {"x": {"b": "1"}}}, "knows no b"),
    ],
)
def test_what_is_not_right_is_refused(spec: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(Misuse, match=said):
        schema.complete(spec, given)
