"""A plan that is carried out: what was broken is mended, in the right order, whatever faults do."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import structs

from stormpool import faults, nemesis, target
from stormpool.agents.api import ApiError
from stormpool.conductor import Conductor
from stormpool.errors import MachineError, Misuse
from stormpool.events import Call, Process
from stormpool.events import Fault as Told
from stormpool.faults.fault import Fault
from stormpool.history import History
from stormpool.lab import Lab
from stormpool.nemesis import Plan, rpc
from stormpool.plugins.csi import PLUGIN_TASK
from stormpool.scene import Scene
from stormpool.store import Recorder
from stormpool.wait import wait_until

DONE: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> Iterator[None]:
    yield
    DONE.clear()


class Noted(Fault, frozen=True, tag="test_conductor.Noted"):
    """Says what was done to it; fails where it is told to."""

    name: str
    failing: str = ""
    times: int = 99

    def inject(self, scene: Scene) -> str:
        DONE.append(f"inject {self.name}")
        if self.failing == "inject":
            raise KeyError(self.name)
        return self.name

    def heal(self, scene: Scene) -> None:
        DONE.append(f"heal {self.name}")
        if self.failing == "heal" and DONE.count(f"heal {self.name}") <= self.times:
            raise ValueError(self.name)


class Taps:
    """What a conductor says to the taps, and what it hears of them."""

    def __init__(self) -> None:
        self.on_held: Any = None

    def hold(self, methods: frozenset[str], on_held: Any) -> None:
        self.on_held = on_held


class Held:
    """A call that has stopped."""

    reply = None

    def __init__(self) -> None:
        self.call = Call(t=1, id="c/1", plugin="zfs", node="client1", method="NodeStageVolume")
        self.went_on = threading.Event()

    def go_on(self) -> None:
        self.went_on.set()


class Stage:
    """A conductor, and what it has written down."""

    def __init__(self, plan: Plan, directory: Path, first: int = 0, **cluster_has: Any) -> None:
        self._file = directory / "history.jsonl"
        recorder = Recorder(self._file)
        self.taps = Taps()
        site = cast(Any, SimpleNamespace(recorder=recorder, **cluster_has))
        site.cluster = site
        self.conductor = Conductor(plan, site, cast(Any, self.taps), first)

    def told(self) -> list[Told]:
        return History.decode(self._file.read_bytes()).of(Told)

    def steps(self) -> list[tuple[int, str]]:
        return [(event.id, event.step) for event in self.told()]


def at_once(*each: Fault) -> Plan:
    return sum((nemesis.on(rpc("NodeStageVolume").before, one) for one in each), Plan())


def test_what_was_broken_last_is_mended_first(tmp_path: Path) -> None:
    stage = Stage(at_once(Noted("a"), Noted("b")), tmp_path, first=5)
    stage.conductor.start()
    held = Held()
    stage.taps.on_held(held)
    assert held.went_on.wait(5)
    stage.conductor.heal()
    assert DONE == ["inject a", "inject b", "heal b", "heal a"]
    assert stage.steps() == [
        (5, "planned"),
        (6, "planned"),
        (5, "injected"),
        (6, "injected"),
        (6, "healed"),
        (5, "healed"),
    ]


def test_a_fault_that_fails_is_mended_at_once_and_its_call_goes_on(tmp_path: Path) -> None:
    stage = Stage(at_once(Noted("a", failing="inject")), tmp_path)
    stage.conductor.start()
    held = Held()
    stage.taps.on_held(held)
    assert held.went_on.wait(5)
    assert DONE == ["inject a", "heal a"]
    stage.conductor.heal()
    assert stage.steps() == [(0, "planned"), (0, "failed")]


def test_a_call_does_not_wait_for_what_happens_later(tmp_path: Path) -> None:
    (planned,) = at_once(Noted("a")).planned
    later = structs.replace(planned, when=structs.replace(planned.when, later=0.2))
    stage = Stage(Plan((later,)), tmp_path)
    stage.conductor.start()
    held = Held()
    stage.taps.on_held(held)
    assert held.went_on.wait(5)
    assert DONE == []
    wait_until("it happened", lambda: [*DONE], lambda done: done == ["inject a"], timeout=5)
    stage.conductor.heal()
    assert DONE == ["inject a", "heal a"]


class Lasting(Fault, frozen=True, tag="test_conductor.Lasting"):
    """Says when it was at it, and when it had done."""

    def inject(self, scene: Scene) -> str:
        began = scene.cluster.recorder.now()
        wait_until("time passes", scene.cluster.recorder.now, lambda now: now > began, timeout=5)
        DONE.append(f"{began} {scene.cluster.recorder.now()}")
        return "it"


def test_a_fault_is_told_from_when_it_began_until_it_was_over(tmp_path: Path) -> None:
    stage = Stage(at_once(Lasting()), tmp_path)
    carried_out(stage)
    stage.conductor.heal()
    began, ended = map(int, DONE[0].split())
    (planned, injected, over) = stage.told()
    assert [each.step for each in (planned, injected, over)] == ["planned", "injected", "healed"]
    assert planned.t <= injected.t <= began
    assert over.t >= ended


def test_what_stays_broken_makes_the_run_worth_nothing(tmp_path: Path) -> None:
    stage = Stage(at_once(Noted("a"), Noted("b", failing="heal")), tmp_path)
    stage.conductor.start()
    held = Held()
    stage.taps.on_held(held)
    assert held.went_on.wait(5)
    with pytest.raises(MachineError, match="could not be mended"):
        stage.conductor.heal()
    assert DONE[-1] == "heal a"  # all the same


def test_mending_that_failed_is_tried_again_at_the_end(tmp_path: Path) -> None:
    plan = nemesis.on(rpc("NodeStageVolume").before, Noted("a", failing="heal", times=1), heal_after=0.0)
    stage = Stage(plan, tmp_path)
    stage.conductor.start()
    held = Held()
    stage.taps.on_held(held)
    assert held.went_on.wait(5)
    stage.conductor.heal()
    while DONE.count("heal a") < 2:  # the first was under way
        stage.conductor.heal()
    assert stage.steps()[-1] == (0, "healed")


def test_faults_that_wait_for_their_time_hold_up_no_call(tmp_path: Path) -> None:
    plan = sum((nemesis.at(60.0, Noted(f"t{number}")) for number in range(200)), Plan())
    stage = Stage(plan + at_once(Noted("a")), tmp_path)
    stage.conductor.start()
    held = Held()
    stage.taps.on_held(held)
    assert held.went_on.wait(5)
    stage.conductor.heal()
    assert DONE == ["inject a", "heal a"]


def test_every_call_that_hangs_goes_on_in_the_end(tmp_path: Path) -> None:
    stage = Stage(nemesis.on(rpc("NodeStageVolume").every.before, faults.HangCall()), tmp_path)
    stage.conductor.start()
    some = [Held(), Held(), Held()]
    for held in some:
        stage.taps.on_held(held)
    stage.conductor.heal()
    assert all(held.went_on.is_set() for held in some)


def carried_out(stage: Stage) -> None:
    """All of its plan, at one call, without what is mended in the end."""
    stage.conductor.start()
    held = Held()
    stage.taps.on_held(held)
    assert held.went_on.wait(5)


def done(what: str) -> Callable[..., None]:
    """A stand-in that notes what it is called with."""
    return lambda *names, **_: DONE.append(" ".join([what, *names]))


def test_a_fault_that_found_no_target_mends_nothing(tmp_path: Path) -> None:
    plan = at_once(faults.KillAgent(target.node("client1")), faults.KillAgent(target.holder("nobody-s")))
    stage = Stage(
        plan,
        tmp_path,
        nodes={"client1": None, "client2": None},
        agents=SimpleNamespace(kill=done("kill"), revive=done("revive")),
        ask=lambda path: {},
    )
    carried_out(stage)
    assert DONE == ["kill client1", "revive"]
    stage.conductor.heal()
    assert DONE == ["kill client1", "revive", "revive client1"]


def test_a_fault_mends_what_it_aimed_at_and_no_other(tmp_path: Path) -> None:
    """Of two plugins that are paused one goes on; no plugin is found on a third node, which may be broken."""
    nodes = {
        name: SimpleNamespace(
            spec=SimpleNamespace(name=name), up=True, run=lambda argv, name=name, **_: done(name)(*argv)
        )
        for name in ("client1", "client2", "client3")
    }
    plugin = Process(7, 1, "sh", task=PLUGIN_TASK)
    first, *others = (faults.PausePlugin(target.node(name)) for name in nodes)
    soon = nemesis.on(rpc("NodeStageVolume").before, first, heal_after=0.0)
    stage = Stage(
        at_once(*others) + soon,
        tmp_path,
        lab=Lab(),
        nodes=nodes,
        clients=lambda: list(nodes.values()),
        look=lambda name: SimpleNamespace(processes=[] if name == "client3" else [plugin]),
    )
    carried_out(stage)
    assert [(said.split()[0], "kill -STOP" in said) for said in DONE[:2]] == [
        ("client2", True),
        ("client1", True),
    ]
    wait_until(
        "the first goes on", lambda: DONE[2:], lambda said: said == ["client1 kill -CONT 7"], timeout=5
    )
    stage.conductor.heal()
    assert DONE[3:] == ["client2 kill -CONT 7"]


class Once(Fault, frozen=True, tag="test_conductor.Once"):
    """Breaks something of two nodes that can be broken once; so the second fails."""

    once = True

    nodes: tuple[str, ...]
    volume: str = ""

    def inject(self, scene: Scene) -> str:
        scene.aim_at(*self.nodes)
        if "broken" in DONE:
            raise MachineError("it is broken already")
        DONE.append("broken")
        return self.nodes[0]

    def heal(self, scene: Scene) -> None:
        DONE.append(f"mend {' '.join(scene.hit)}")


@pytest.mark.parametrize(("volume", "mended"), [("", "mend client3"), ("vol1", "mend client2 client3")])
def test_a_fault_that_fails_leaves_to_another_of_its_kind_what_that_broke(
    tmp_path: Path, volume: str, mended: str
) -> None:
    both = at_once(Once(("client1", "client2")), Once(("client2", "client3"), volume))
    stage = Stage(both, tmp_path)
    carried_out(stage)
    assert DONE[:2] == ["broken", mended]
    stage.conductor.heal()
    assert DONE[2:] == ["mend client1 client2"]


class Books:
    """The servers' books of one volume."""

    def __init__(self) -> None:
        self.volume: dict[str, str] | None = {"ID": "vol1"}

    def ask(self, path: str) -> dict[str, str]:
        if self.volume is None:
            raise ApiError("server1", "GET", path, 404, "volume not found")
        return self.volume

    def find(self, path: str) -> dict[str, str] | None:
        return self.volume

    def delete(self, path: str) -> None:
        self.volume = None

    def put(self, path: str, body: dict[str, list[dict[str, str]]]) -> None:
        (self.volume,) = body["Volumes"]


def test_a_volume_that_was_forgotten_is_brought_back_by_whom_it_was_forgotten_for(tmp_path: Path) -> None:
    books = Books()
    turn = SimpleNamespace(directory=SimpleNamespace(path=tmp_path))
    plan = at_once(faults.DeregisterVolume("vol1"), faults.DeregisterVolume("vol1"))
    stage = Stage(plan, tmp_path, ask=books.ask, api=lambda: books, turn=turn)
    carried_out(stage)
    assert stage.steps()[2:] == [(0, "injected"), (1, "failed")]
    assert books.volume is None
    stage.conductor.heal()
    assert books.volume == {"ID": "vol1"}


@pytest.mark.parametrize(
    "plan",
    [
        nemesis.on(rpc("NodeStageVolume").during, faults.HangCall()),
        nemesis.on(rpc("NodeStageVolume").answered, faults.DuplicateCall()),
        nemesis.on(rpc("NodeStageVolume").answered, faults.DropRequest()),
        nemesis.at(1.0, faults.FailCall()),
        nemesis.at(1.0, faults.KillPlugin()),
        nemesis.at(1.0, faults.Partition(target.leader(), target.serving())),
        nemesis.at(1.0, faults.PauseExecutor()),
        nemesis.at_random(1, {faults.PausePlugin(): 1.0}, count=1, within=1.0),
    ],
)
def test_a_fault_planned_where_it_does_nothing_is_refused(plan: Plan) -> None:
    (planned,) = plan.planned
    with pytest.raises(Misuse):
        planned.fault.check(planned.when)


@pytest.mark.parametrize(
    "plan",
    [
        nemesis.on(rpc("NodeStageVolume").before, faults.KillPlugin()),
        nemesis.at(1.0, faults.KillPlugin(target.node("client1"))),
        nemesis.at(1.0, faults.KillLogmon("vol1")),
        nemesis.at(1.0, faults.DetachVolume("vol1")),
    ],
)
def test_a_fault_that_knows_its_node_is_not_refused(plan: Plan) -> None:
    (planned,) = plan.planned
    planned.fault.check(planned.when)
