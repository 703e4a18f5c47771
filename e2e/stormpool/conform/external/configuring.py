"""Configuring a plugin: as agents try it, again, wrongly, and beside one that works."""

from __future__ import annotations

from typing import Any

from stormpool.conform.external.asking import Refused
from stormpool.conform.external.bench import GONE_WITHIN, LOOK_EVERY, Bench
from stormpool.conform.external.look import Look, told
from stormpool.conform.rule import Broken, NotOffered, Rule, rule
from stormpool.errors import TimedOut
from stormpool.wait import wait_until

LOADER = "nomad helper/pluginutils/loader/init.go"
NO_MESSAGEPACK = b"\xc1"  # the one byte that begins nothing
TEXT = b"\xa4text"  # no list: go-msgpack takes one for a struct's fields in their order
PROBES = 2


@rule(source=f"{LOADER} validatePluginConfig: SetConfig twice, nomad_config nil")
def configured_twice(bench: Bench[Any]) -> None:
    """It takes its configuration twice, without anything of the agent's; what has none takes an empty one."""
    instance = bench.meet(bench.begin())
    bench.set_config(instance)
    bench.set_config(instance)
    instance.ask.info()


def wrongly(what: str, data: bytes) -> Rule[Bench[Any]]:
    """It is handed a configuration that is none."""

    @rule(source="nomad plugins/base/server.go SetConfig; plugins/base MsgPackDecode", of=what)
    def a_wrong_configuration(bench: Bench[Any]) -> None:
        """A configuration that is none is refused by an error; the plugin lives, and takes a right one."""
        instance = bench.meet(bench.begin())
        if not instance.ask.config_spec().object.attributes:
            raise NotOffered("it has nothing to configure")
        try:
            bench.set_config(instance, data)
        except Refused as refused:
            if not instance.lives or refused.code == "UNAVAILABLE":
                raise Broken(f"it ended: {refused}") from refused
        else:
            raise Broken("it took it")
        bench.set_config(instance)

    return a_wrong_configuration


@rule(source=f"{LOADER} fingerprintPlugin, validatePluginConfig: also while the old plugin lives")
def tried_beside_it(bench: Bench[Any]) -> None:
    """Agents that start try it in processes of their own, while one works: that one notices nothing of it."""
    main, before = bench.main, bench.look()
    for _ in range(PROBES):
        probe = bench.meet(bench.begin())
        probe.ask.info()
        bench.set_config(probe)
        bench.set_config(probe)
        probe.shut_down()
    main.ask.info()
    main.note()
    if main.ended_by_itself:
        raise Broken(f"in the one that works {main.ended_by_itself[0]}")
    _must_be_as_before(bench, before)


def _must_be_as_before(bench: Bench[Any], before: Look) -> None:
    """Raise `Broken` when the node has more mounts or processes than before."""
    look = bench.look()
    if look.mounted(before):
        raise Broken(f"mounted by one that was tried: {', '.join(look.mounted(before))}")
    try:
        wait_until(
            "they are gone",
            bench.processes_left,
            lambda left: not left,
            timeout=GONE_WITHIN,
            every=LOOK_EVERY,
        )
    except TimedOut:
        raise Broken(f"left by one that was tried: {told(bench.processes_left())}") from None


RULES: tuple[Rule[Any], ...] = (
    configured_twice,
    wrongly("no MessagePack", NO_MESSAGEPACK),
    wrongly("no object", TEXT),
    tried_beside_it,
)
