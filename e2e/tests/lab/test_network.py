"""Faults of the network hit just the packets they name, by the packets themselves and by the agents' view."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from probes import CALLER, ECHO, LISTENER, PORT, SPEAKER, listening, python
from stormpool import faults, target
from stormpool.cluster import Cluster
from stormpool.faults import Fault
from stormpool.lab import Lab, Role
from stormpool.node import Node
from stormpool.runner import Asked, running
from stormpool.scene import Scene
from stormpool.target import Target
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab


class Ears:
    """Who hears whom: every node listens for datagrams."""

    def __init__(self, nodes: dict[str, Node], logs: Path) -> None:
        self._nodes = nodes
        self._logs = {name: logs / f"{name}-heard.log" for name in nodes}
        for name, node in nodes.items():
            node.start("listener", python(LISTENER), env={}, log=self._logs[name])
        self._turn = 0
        wait_until("everybody hears everybody", self.heard, lambda seen: seen == self.pairs(), timeout=10)

    def pairs(self) -> set[tuple[str, str]]:
        """All pairs of nodes."""
        return {(one, other) for one in self._nodes for other in self._nodes if one != other}

    def heard(self) -> set[tuple[str, str]]:
        """Let every node speak to every other: which pairs, speaker first, were heard."""
        self._turn += 1
        addresses = [node.address for node in self._nodes.values()]
        for name, node in self._nodes.items():
            node.run(python(SPEAKER, f"{name}@{self._turn}", "1", *addresses))
        # A node always hears itself; what was sent to others before that has been heard, or never will be.
        return {
            (said.partition("@")[0], listener)
            for listener, log in self._logs.items()
            for said in log.read_text().splitlines()
            if f"@{self._turn} " in said and not said.startswith(f"{listener}@")
        }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three servers and two clients, without plugins."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        asked = Asked(
            lab=Lab(servers=3, clients=2), scenario="network", out=tmp_path_factory.mktemp("out"), seed=3
        )
        with running(asked) as up:
            yield up


@pytest.fixture(scope="module")
def ears(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Ears:
    """Who hears whom."""
    return Ears(dict(cluster.nodes), tmp_path_factory.mktemp("heard"))


SERVERS = {"server1", "server2", "server3"}


def between(side: set[str], other: set[str]) -> set[tuple[str, str]]:
    """Pairs across two sides, both ways."""
    return {pair for one in side for two in other for pair in ((one, two), (two, one)) if one != two}


def views(cluster: Cluster) -> dict[str, str]:
    """Which address each server holds for the leader's, by its own word."""
    return {
        name: cluster.api(name).get("status/leader", stale="").partition(":")[0]
        for name in cluster.lab.names(Role.SERVER)
    }


def unheard(cluster: Cluster, ears: Ears, fault: Fault) -> tuple[str, set[tuple[str, str]]]:
    """What a fault says it hit, and the pairs it cut; everybody hears everybody once it is healed."""
    scene = Scene(cluster)
    subject = fault.inject(scene)
    try:
        cut = ears.pairs() - ears.heard()
    finally:
        fault.heal(scene)
    fault.heal(scene)  # as often as one likes
    assert ears.heard() == ears.pairs()
    return subject, cut


def test_only_what_a_fault_names_is_cut(cluster: Cluster, ears: Ears) -> None:
    one = target.node("server1")
    everybody = set(cluster.nodes)

    _, cut = unheard(cluster, ears, faults.OneWay(one, target.node("client2")))
    assert cut == {("server1", "client2")}

    _, cut = unheard(cluster, ears, faults.Partition(one, target.all(Role.CLIENT)))
    assert cut == between({"server1"}, {"client1", "client2"})

    _, cut = unheard(cluster, ears, faults.Partition(target.minority()))
    (few,) = {name for name in everybody if all((name, other) in cut for other in everybody - {name})}
    assert cut == between({few}, everybody - {few})

    _, cut = unheard(cluster, ears, faults.Isolate(target.all(Role.CLIENT)))
    assert cut == between({"client1", "client2"}, everybody)

    subject, cut = unheard(cluster, ears, faults.Bridge())
    half, joint, other = subject.split(" - ")
    assert {half, joint, other} == SERVERS
    assert cut == between({half}, {other})


def test_what_others_asked_for_stands(cluster: Cluster, ears: Ears) -> None:
    one, two = faults.Isolate(target.node("client1")), faults.Isolate(target.node("client2"))
    first, second = Scene(cluster), Scene(cluster)
    one.inject(first)
    two.inject(second)
    try:
        one.heal(first)
        assert ears.pairs() - ears.heard() == between({"client2"}, set(cluster.nodes))
    finally:
        two.heal(second)
    assert ears.heard() == ears.pairs()


def test_a_leader_cut_off_is_replaced_and_comes_back(cluster: Cluster, ears: Ears) -> None:
    fault, scene = faults.Isolate(target.leader()), Scene(cluster)
    was = fault.inject(scene)
    address = cluster.nodes[was].address
    others = SERVERS - {was}
    try:
        seen = wait_until(
            "the others have a leader, and the one cut off has none",
            lambda: views(cluster),
            lambda now: now[was] == "" and {now[name] for name in others}.isdisjoint({"", address}),
            timeout=20,
        )
        assert scene.node(target.leader()) in others, seen
        assert scene.node(target.follower()) != scene.node(target.leader())
    finally:
        fault.heal(scene)
    assert len(set(views(cluster).values())) == 1


def test_established_connections_survive(cluster: Cluster, tmp_path: Path) -> None:
    one, two = cluster.nodes["client1"], cluster.nodes["client2"]
    with listening(two, ECHO, tmp_path / "log"):
        stalls_and_goes_on(cluster, one, two)


def stalls_and_goes_on(cluster: Cluster, one: Node, two: Node) -> None:
    """One connection between two nodes, through a partition and a slow link."""
    said: list[str] = []
    caller = one.stream(python(CALLER, two.address), said.append)
    wait_until("answers come", lambda: len(said), lambda count: count > 10, timeout=10)

    def connection() -> list[str]:
        """Bytes received and not read, sent and not acknowledged; its two ends."""
        return one.run(["ss", "-Htn", "state", "established", f"dport = :{PORT}"]).stdout.split()

    ends = connection()[2:4]

    def goes_on() -> None:
        so_far = len(said)
        wait_until("answers come", lambda: len(said), lambda count: count > so_far + 10, timeout=10)
        assert connection()[2:4] == ends

    isolated, slowed = Scene(cluster), Scene(cluster)
    isolate = faults.Isolate(target.node("client1"))
    slow = faults.ShapeLink(target.node("client1"), delay=0.005)
    isolate.inject(isolated)
    try:
        wait_until("nothing is acknowledged", connection, lambda seen: int(seen[1]) > 20, timeout=10)
        stalled = len(said)
        wait_until("more is not", connection, lambda seen: int(seen[1]) > 40, timeout=10)
        assert (connection()[2:4], len(said)) == (ends, stalled)
    finally:
        isolate.heal(isolated)
    goes_on()
    slow.inject(slowed)
    try:
        goes_on()
    finally:
        slow.heal(slowed)
    goes_on()
    caller.stop()
    assert said[-1].strip() == "closed in order"


def test_the_harness_reaches_whom_nobody_else_does(cluster: Cluster) -> None:
    fault, scene = faults.Isolate(target.all()), Scene(cluster)
    fault.inject(scene)
    try:
        for name in cluster.nodes:
            assert cluster.api(name).get("agent/self")["config"]["NodeName"] == name
    finally:
        fault.heal(scene)


def test_aiming_at_several(cluster: Cluster) -> None:
    scene = Scene(cluster)
    few, many = scene.nodes(target.minority()), scene.nodes(target.majority())
    assert (len(few), len(many)) == (1, 2)
    assert {*few, *many} == SERVERS
    assert scene.nodes(target.one()) == few
    assert set(scene.nodes(target.all())) == set(cluster.nodes)
    several: Target = target.majority()
    with pytest.raises(Exception, match="this fault hits one"):
        scene.node(several)
