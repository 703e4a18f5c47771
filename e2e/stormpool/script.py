"""What a run is made of, apart from versions and seed: its lab, and what is done to it; written into the run,
so that the run can be replayed and made smaller."""

from __future__ import annotations

from typing import Any, Union

import msgspec
from msgspec import structs

from stormpool.errors import Misuse
from stormpool.faults.fault import Fault
from stormpool.lab import CsiPlugin, Lab, Plugin
from stormpool.nemesis import Plan, Planned
from stormpool.pace import Seconds
from stormpool.report.plain import plain
from stormpool.workloads import Workload


class Act(msgspec.Struct, frozen=True):
    """One `cluster.run`: what clients do, what breaks meanwhile, the seconds that all may take to settle."""

    workloads: tuple[Any, ...]
    plan: Plan
    settle: Seconds


class Script(msgspec.Struct, frozen=True):
    """A lab, and what is done to it, one act after another."""

    lab: Lab
    acts: tuple[Act, ...] = ()

    @property
    def faults(self) -> int:
        """How many faults are planned."""
        return sum(len(act.plan.planned) for act in self.acts)


def at_home(script: Script, lab: Lab) -> Script:
    """A script with the plugins of a lab described here: commands and paths of elsewhere are not ours.

    Raises `Misuse` for a plugin that is not described here.
    """
    here = {plugin.id: plugin for plugin in lab.plugins}
    for each in script.lab.plugins:
        if each.id not in here:
            raise Misuse(
                f"the scenario's LAB has no plugin {plain(each.id)}, and the run has",
                fix="replay it with the scenario as it was",
            )
    plugins = [_as_large(here[each.id], each) for each in script.lab.plugins]
    return structs.replace(script, lab=structs.replace(script.lab, plugins=plugins))


def _as_large(here: Plugin, there: Plugin) -> Plugin:
    """A plugin as it is described here, with as many controllers as it had there."""
    if isinstance(here, CsiPlugin) and isinstance(there, CsiPlugin):
        return structs.replace(here, controllers=there.controllers)
    return here


def encode(script: Script) -> bytes:
    """A script as JSON."""
    return msgspec.json.format(msgspec.json.encode(script))


def decode(data: bytes, where: str = "the script") -> Script:
    """Read a script back; faults and workloads of a scenario's own are known once it is imported.

    Raises `Misuse` where it names what nobody knows.
    """
    try:
        return typed(msgspec.json.decode(data, type=Script))
    except msgspec.DecodeError as error:
        raise Misuse(
            f"{where} cannot be read: {plain(str(error))}",
            fix="replay it with the version of stormpool, and the scenario, that wrote it",
        ) from error


def typed(said: Script) -> Script:
    """A script with its faults and workloads as what they are, where they were read as plain JSON."""
    return Script(said.lab, tuple(_act(act) for act in said.acts))


def _act(said: Act) -> Act:
    workloads, faults = _any_of(Workload), _any_of(Fault)
    planned = tuple(
        Planned(each.when, msgspec.convert(each.fault, faults), each.heal_after) for each in said.plan.planned
    )
    return Act(tuple(msgspec.convert(each, workloads) for each in said.workloads), Plan(planned), said.settle)


def _any_of(kind: type) -> Any:
    """The type of a value of whichever subclass it says it is.

    Raises `Misuse` where a scenario's own has the name of one of ours.
    """
    named: dict[object, type[Any]] = {}
    for each in _subclasses(kind):
        name = each.__struct_config__.tag
        if name in named and _is_ours(named[name]) != _is_ours(each):
            raise Misuse(f"{name} is the name of two of {kind.__name__}", fix="name the scenario's otherwise")
        named[name] = each  # of one that was read again, the last
    return Union[tuple(named.values())]  # noqa: UP007 - they are not known before


def _is_ours(kind: type[Any]) -> bool:
    return kind.__module__.startswith("stormpool.")


def _subclasses(kind: type[Any]) -> list[type[Any]]:
    return [each for one in kind.__subclasses__() for each in (one, *_subclasses(one))]
