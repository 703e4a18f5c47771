"""Shaped links do to packets what their shapes say, on one node's link and no other; nodes without agents."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from probes import ANSWERER, BULK, LISTENER, RTT, SINK, SPEAKER, listening, python
from stormpool import processes
from stormpool.lab import Lab
from stormpool.links import Shape
from stormpool.node import Bringing, Nodes
from stormpool.providers.netns import Netns
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab

COUNT = 160  # datagrams; a socket holds 256 that nobody has read yet


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Three nodes without agents."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        nodes = Netns().up(Lab(servers=3, clients=0), Bringing("0badca81", tmp_path_factory.mktemp("run")))
        try:
            yield nodes
        finally:
            nodes.down()
            assert nodes.left_behind() == []


def relays() -> list[int]:
    """The relays of this process's labs."""
    mine = processes.children(os.getpid())
    return [pid for pid in mine if b"link.relay" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def round_trips(nodes: Nodes, source: str, count: int = 50) -> list[float]:
    """Seconds of round trips to the third node, sorted."""
    asked = nodes.nodes[source].run(python(RTT, nodes.nodes["server3"].address, str(count)))
    spent: list[float] = json.loads(asked.stdout)
    return spent


def test_a_shaped_link_delays_both_ways_and_no_other(bare: Nodes, tmp_path: Path) -> None:
    with listening(bare.nodes["server3"], ANSWERER, tmp_path / "log"):
        bare.links.shape("server1", Shape(delay=0.03, jitter=0.01), by="a test")
        try:
            spent = round_trips(bare, "server1")
            assert 0.04 <= spent[0] <= spent[len(spent) // 2] <= 0.075
            assert spent[-1] - spent[0] > 0.01
            assert len(relays()) == 1
            assert round_trips(bare, "server2")[25] < 0.005
        finally:
            bare.links.restore("a test")
        bare.links.restore("a test")
        assert round_trips(bare, "server1")[25] < 0.005
        assert relays() == []


def test_packets_are_lost_copied_and_kept_in_order(bare: Nodes, tmp_path: Path) -> None:
    one, two = bare.nodes["server1"], bare.nodes["server2"]
    log = tmp_path / "heard.log"
    with listening(two, LISTENER, log):

        def heard(turn: str, shape: Shape) -> list[int]:
            # Known to each other: a slow answer of who has the address would cost the first packets of many.
            one.run(python(SPEAKER, f"{turn}-first", "1", two.address))
            wait_until("one is heard", log.read_text, lambda text: f"{turn}-first 0" in text, timeout=10)
            bare.links.shape("server2", shape, by="a test")
            one.run(python(SPEAKER, turn, str(COUNT), two.address))
            bare.links.restore("a test")  # sends on what waits
            two.run(python(SPEAKER, f"{turn}-over", "1", two.address))
            wait_until("all is heard", log.read_text, lambda text: f"{turn}-over 0" in text, timeout=10)
            said = [line.split() for line in log.read_text().splitlines()]
            return [int(number) for name, number in said if name == turn]

        every = list(range(COUNT))
        assert heard("jitter", Shape(delay=0.02, jitter=0.02)) == every
        lossy = heard("lossy", Shape(loss=0.2, seed=1))
        assert 0.65 * COUNT <= len(lossy) <= 0.95 * COUNT
        assert lossy == sorted(lossy)
        copied = heard("copied", Shape(duplicate=0.2, seed=1))
        assert 1.05 * COUNT <= len(copied) <= 1.35 * COUNT
        assert sorted(set(copied)) == every
        overtaken = heard("overtaken", Shape(delay=0.05, reorder=0.2, seed=1))
        assert sorted(overtaken) == every
        assert overtaken != every


def test_a_shaped_link_is_no_faster_than_its_rate(bare: Nodes, tmp_path: Path) -> None:
    one, two = bare.nodes["server1"], bare.nodes["server2"]
    with listening(two, SINK, tmp_path / "log"):

        def took() -> float:
            return float(one.run(python(BULK, two.address)).stdout)

        plain = took()
        bare.links.shape("server1", Shape(rate=1_000_000), by="a test")
        try:
            assert 0.95 <= took() <= 2
        finally:
            bare.links.restore()
        assert plain < 0.5
        assert took() < 0.5


def test_what_is_asked_outlives_a_crash_of_the_node(bare: Nodes, tmp_path: Path) -> None:
    bare.links.drop([("server1", "server2")], by="a test")
    bare.links.shape("server2", Shape(delay=0.01), by="a test")
    bare.crash("server2")
    bare.crash("server2")
    bare.boot("server2")
    bare.boot("server2")
    one, two = bare.nodes["server1"], bare.nodes["server2"]
    log = tmp_path / "heard.log"
    with listening(two, LISTENER, log):
        for name in ("server1", "server3"):
            bare.nodes[name].run(python(SPEAKER, name, "1", two.address))
        wait_until("one is heard", log.read_text, lambda text: "server3 0" in text, timeout=10)
        assert "server1" not in log.read_text()
        bare.links.restore()
        one.run(python(SPEAKER, "server1", "1", two.address))
        wait_until("the other is heard", log.read_text, lambda text: "server1 0" in text, timeout=10)
