"""A scenario's seconds on slow nodes."""

import msgspec
import pytest

from stormpool import faults, nemesis, target, workloads
from stormpool.errors import Misuse
from stormpool.lab import Lab
from stormpool.nemesis import Planned, rpc
from stormpool.pace import slowed
from stormpool.plugins import csi
from stormpool.script import Act, _subclasses
from stormpool.workloads import Kind, Workload


def test_every_time_of_an_act_is_as_many_times_as_long() -> None:
    tasks = workloads.tasks(2, Kind(seconds=3), goes_on=6, timeout=20)
    killed = nemesis.at(2.0, faults.KillExecutor(job="task1"), heal_after=1.0)
    late = nemesis.on(rpc("StartTask").within(4).before, faults.KillAgent(target.one()))
    act = slowed(Act((tasks,), killed + late, 15.0), 5.0)
    assert act.workloads == (workloads.tasks(2, Kind(seconds=15), goes_on=30, timeout=100),)
    assert [each.heal_after for each in act.plan.planned] == [5.0, None]
    assert [each.when for each in act.plan.planned] == [
        nemesis.AtTime(10.0),
        rpc("StartTask").within(20).before,
    ]
    assert act.settle == 75.0


def test_at_the_pace_of_namespaces_nothing_changes() -> None:
    act = Act((workloads.attach_detach(["vol1"], per_volume=2),), nemesis.Plan(), 45.0)
    assert slowed(act, 1.0) is act


@pytest.mark.parametrize("kind", [*_subclasses(Workload), Planned], ids=lambda kind: kind.__name__)
def test_what_is_a_time_is_marked_as_one(kind: type[msgspec.Struct]) -> None:
    times = {"timeout", "seconds", "goes_on", "after", "patience", "lingers", "heal_after"}
    assert not [
        field.name for field in msgspec.structs.fields(kind) if field.name in times and field.type is float
    ]


def test_a_lab_of_fewer_nodes() -> None:
    lab = Lab(servers=3, clients=3, plugins=[csi.zfs(controllers=3), csi.zfs(id="other")])
    assert lab.at_most(1, 2) == Lab(
        servers=1, clients=2, plugins=[csi.zfs(controllers=2), csi.zfs(id="other")]
    )
    assert lab.at_most(9, 9) == lab


def test_a_provider_has_no_more_nodes_than_it_is_told() -> None:
    from stormpool.runner import Asked, provider_named  # noqa: PLC0415

    asked = Asked(Lab(servers=3, clients=3), "s.py::t", provider="vagrant:1+2", seed=7)
    assert (asked.lab.servers, asked.lab.clients) == (1, 2)
    assert asked.replay() == "stormpool run s.py::t --nomad 1.6.1 --seed 7 --provider vagrant:1+2"
    assert provider_named("vagrant:1+2").name == "vagrant"
    for wrong in ("vagrant:", "vagrant:1", "dockr", "netns:1+2+3"):
        with pytest.raises(Misuse, match="no provider is named"):
            provider_named(wrong)
