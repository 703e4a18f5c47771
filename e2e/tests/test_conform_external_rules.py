"""What is known of the rules for device plugins and task drivers without a plugin."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stormpool.conform.external.device import rules as device_rules
from stormpool.conform.external.driver import rules as driver_rules
from stormpool.conform.external.driver.task import TaskAsked
from stormpool.conform.external.identity import VERSION, must_be_whole
from stormpool.conform.external.look import Look, Seen
from stormpool.conform.external.specification import is_type
from stormpool.conform.rule import Broken, Rule, table
from stormpool.goplugin.protos import hcl

PAGE = Path(__file__).parents[2] / "docs" / "conform-external.md"
SHELL = ("/bin/sh", "-c", "exit 7")
DEVICE: list[Rule[Any]] = list(device_rules.ALL)
DRIVER: list[Rule[Any]] = list(driver_rules.ALL)
BOTH = [each for each in DEVICE if each in DRIVER]


def conform(*argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from stormpool.cli import main; main()", "conform", *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("rules", [BOTH, DEVICE, DRIVER], ids=["both", "device", "driver"])
def test_the_page_has_every_rule(rules: list[Rule[Any]]) -> None:
    own = rules if rules is BOTH else [each for each in rules if each not in BOTH]
    assert table(own) in PAGE.read_text()


@pytest.mark.parametrize("rules", [DEVICE, DRIVER], ids=["device", "driver"])
def test_names_are_the_rules_own(rules: list[Rule[Any]]) -> None:
    names = [each.name for each in rules]
    assert len(set(names)) == len(names)
    assert all(each.statement for each in rules)


@pytest.mark.parametrize(
    ("config", "filled"),
    [
        ({"command": "{command}", "args": "{args}"}, {"command": "/bin/sh", "args": ["-c", "exit 7"]}),
        ({"image": "it", "args": ["run", "{args}"]}, {"image": "it", "args": ["run", "-c", "exit 7"]}),
        ({"unit": {"exec": "{command} -e"}, "n": 3}, {"unit": {"exec": "/bin/sh -e"}, "n": 3}),
        ({"script": "{script}"}, {"script": "exit 7"}),
    ],
)
def test_a_task_is_told_its_command(config: dict[str, Any], filled: dict[str, Any]) -> None:
    assert TaskAsked(config).filled(SHELL) == filled


def test_versions_that_agents_can_read() -> None:
    assert all(VERSION.fullmatch(good) for good in ("0.1.0", "v1.2.3-beta1+ent", "2"))
    assert not any(VERSION.fullmatch(bad) for bad in ("", "one", "1..2", "1.2.3 "))


def test_a_specification_without_kinds() -> None:
    text = hcl.Spec(Attr=hcl.Attr(name="text", type="string"))
    block = hcl.Spec(block_list=hcl.BlockList(name="part", nested=hcl.Spec()))
    must_be_whole(hcl.Spec(object=hcl.Object(attributes={"text": text})), "it")
    with pytest.raises(Broken, match=r"it\.part\.part is a Spec"):
        must_be_whole(hcl.Spec(object=hcl.Object(attributes={"text": text, "part": block})), "it")


@pytest.mark.parametrize(
    "type",
    [
        *("string", "number", "bool", "any", "null", "(string)", " list( set(map(any)) )", "list(string,)"),
        *("tuple([])", "tuple([string,number,])", "tuple([\nstring,\nnumber\n])", "object({})"),
        *('object({"a"=string,b:list(number)})', "object({\na=string\nb=bool\n})"),
    ],
)
def test_a_type_that_agents_take(type: str) -> None:
    """Tried with Nomad's own `hclspecutils.Convert`, as are the next."""
    assert is_type(type)


@pytest.mark.parametrize(
    "type",
    [
        *(
            "",
            " ",
            "strng",
            '"string"',
            "list",
            "list()",
            "list(string, string)",
            "list(string)x",
            "list(null)",
        ),
        *("map()", "tuple(string)", "tuple([string number])", "object(string)", "object({a})", "string()"),
        *("object({a=string b=bool})", "str-ing"),
    ],
)
def test_a_type_that_agents_refuse(type: str) -> None:
    assert not is_type(type)


ATTR = hcl.Spec(Attr=hcl.Attr(type="string"))
SIZE = hcl.Spec(object=hcl.Object(attributes={"size": ATTR}))


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        (hcl.Spec(Attr=hcl.Attr()), "it.part is of type '', which is none"),
        (hcl.Spec(block_attrs=hcl.BlockAttrs(type="strng")), "it.part is of type 'strng', which is none"),
        (hcl.Spec(block_map=hcl.BlockMap(nested=SIZE)), "it.part is a block_map without a label"),
        (hcl.Spec(array=hcl.Array(values=[ATTR])), "it.part[0] has no name"),
        (hcl.Spec(default=hcl.Default(primary=ATTR, default=ATTR)), "it.part has no name"),
        (hcl.Spec(block_value=hcl.Block(name="b", nested=ATTR)), "it.part.b has no name"),
    ],
)
def test_a_specification_that_agents_refuse(part: Any, wrong: str) -> None:
    with pytest.raises(Broken) as broken:
        must_be_whole(hcl.Spec(object=hcl.Object(attributes={"part": part})), "it")
    assert str(broken.value) == wrong


@pytest.mark.parametrize(
    "part",
    [
        ATTR,
        hcl.Spec(block_attrs=hcl.BlockAttrs(type="string")),
        hcl.Spec(block_map=hcl.BlockMap(labels=["l"], nested=SIZE)),
        hcl.Spec(array=hcl.Array(values=[hcl.Spec(block_value=hcl.Block(nested=SIZE))])),
        hcl.Spec(literal=hcl.Literal(value="3")),
    ],
)
def test_a_specification_that_agents_take(part: Any) -> None:
    must_be_whole(hcl.Spec(object=hcl.Object(attributes={"part": part})), "it")


def seen(pid: int, parent: int, started: int = 1) -> Seen:
    return Seen(pid, parent, started, ("a",), "", 1, 3, (), first=False)


def test_what_a_process_started_in_turn() -> None:
    look = Look((seen(2, 1), seen(3, 2), seen(4, 3), seen(5, 1)), ("/", "/run"), ())
    assert [each.pid for each in look.below(2)] == [2, 3, 4]


def test_what_was_not_there_before() -> None:
    before = Look((seen(2, 1), seen(3, 1)), ("/", "/run"), ())
    after = Look((seen(2, 1, started=9), seen(3, 1)), ("/", "/run", "/run"), ())
    assert [each.who for each in after.new(before)] == [(2, 9)]
    assert after.mounted(before) == ["/run"]


@pytest.mark.parametrize("kind", ["device", "driver"])
def test_the_rules_are_listed(kind: str) -> None:
    done = conform(kind, "--list", "--rule", "not by hand")
    assert [line.partition("  [")[0] for line in done.stdout.splitlines()] == [
        "not by hand: no cookie",
        "not by hand: another cookie",
    ]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["device"], "no plugin is named"),
        (["device", "--plugin", "it", "--config", "[]"], "--config is no JSON object"),
        (["device", "--plugin", "it", "--config", "@/nowhere"], "--config is no JSON object"),
        (["device", "--plugin", "it", "--env", "A"], "'A' has no value"),
        (["device", "--plugin", "it 'is"], "--plugin cannot be split into words"),
        (["driver", "--plugin", "it", "--task-config", "x"], "--task-config is no JSON object"),
        (["driver", "--plugin", "it", "--rule", "sing"], "no rule is named 'sing'"),
    ],
)
def test_misuse(argv: list[str], said: str) -> None:
    done = conform(*argv)
    assert (done.returncode, said in done.stderr) == (64, True), done.stderr
