"""Labs of machines: virtual ones with OpenZFS in their kernels, reached over ssh, cut off, set back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from stormpool import hand, pools, shell
from stormpool.errors import MachineError
from stormpool.lab import Lab, Role
from stormpool.links import Shape
from stormpool.node import Bringing
from stormpool.observe import command
from stormpool.programs import fixture_environment
from stormpool.providers.vagrant import Vagrant, VagrantNodes
from stormpool.providers.vagrant.node import VagrantNode
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab

LAB = Lab(servers=1, clients=1)
ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
from stormpool.observe import zfs
assert zfs._core() is not None
told = [[zfs.pools(True), zfs.file_systems(True)]]
zfs._core = lambda: None
assert zfs._json("zfs", "list", "-j") is not None
told.append([zfs.pools(True), zfs.file_systems(True)])
zfs._json = lambda *argv: None
told.append([zfs.pools(True), zfs.file_systems(True)])
print(json.dumps(told))
"""
VOLUMES = Path(__file__).with_name("volumes_on_a_machine.py")
COUNT = 'n=0; while :; do n=$((n + 1)); echo "$n"; sleep 0.1; done'


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VagrantNodes]:
    run = tmp_path_factory.mktemp("run")
    nodes = Vagrant().up(LAB, Bringing("0badb0c5", run))
    try:
        for name in LAB.names(Role.CLIENT):
            pools.start(nodes.nodes[name], LAB.pool_mib, run / "zfs.log")
        yield nodes
    finally:
        nodes.down()
    assert nodes.left_behind() == []


@pytest.fixture
def client(machines: VagrantNodes) -> VagrantNode:
    return machines.nodes["client1"]


@pytest.fixture
def server(machines: VagrantNodes) -> VagrantNode:
    return machines.nodes["server1"]


def uptime(node: VagrantNode) -> float:
    """Seconds, by its monotonic clock, which timers and leases go by."""
    return float(node.run(["cat", "/proc/uptime"]).stdout.split()[0])


def round_trip(one: VagrantNode, other: VagrantNode) -> float | None:
    """Seconds that a packet takes to another machine and back; None where it does not arrive in two."""
    said = one.run(["busybox", "ping", "-c", "1", "-W", "2", other.address], check=False).stdout
    times = [float(word.removeprefix("time=")) for word in said.split() if word.startswith("time=")]
    return times[0] / 1000 if times else None


def is_longer(log: Path, than: int) -> bool:
    """Whether a log has grown."""
    return len(log.read_text()) > than


def test_a_machine_is_what_it_is_asked_to_be(client: VagrantNode, server: VagrantNode) -> None:
    assert client.run(["hostname"]).stdout == "client1\n"
    # By its id ZFS tells whose a pool is (zgenhostid(8)).
    assert [node.run(["hostid"]).stdout for node in (client, server)] == ["0a4d0065\n", "0a4d0001\n"]
    assert client.run(["cat", "/sys/module/zfs/version"]).stdout.startswith("2.")
    assert pools.imported(client) == ["tank"]
    assert client.run(["sh", "-c", 'exit "$1"', "sh", "3"], check=False).code == 3
    client.write("/deep/er/file", "what's in it: $HOME\n")
    assert client.read("/deep/er/file") == "what's in it: $HOME\n"


def test_commands_by_hand_reach_a_machine_as_they_are(machines: VagrantNodes) -> None:
    lab = machines.keep("", {})
    said = shell.run(hand.entering(lab, "client1", ["printf", "%s|", "it's", "$HOME", "a  b", ""]))
    assert said.stdout == "it's|$HOME|a  b||"


def test_a_process_lives_on_and_tells_how_it_ended(client: VagrantNode, tmp_path: Path) -> None:
    log = tmp_path / "log"
    killed = client.start("x", ["sh", "-c", "echo $WORD; sleep 60"], env={"WORD": "hello"}, log=log)
    wait_until("it speaks", log.read_text, lambda said: said == "hello\n", timeout=10)
    assert killed.alive()
    killed.signal(9)
    assert killed.wait(10) == -9
    ended = client.start("x", ["sh", "-c", "exit 7"], env={}, log=log)
    assert ended.wait(10) == 7


def test_its_clocks_are_this_hosts(client: VagrantNode) -> None:
    asked = time.monotonic_ns(), time.time_ns()
    tell = "import time; print(time.monotonic_ns(), time.time_ns())"
    told = [int(word) for word in client.run(["python3", "-I", "-S", "-c", tell]).stdout.split()]
    heard = time.monotonic_ns(), time.time_ns()
    slack = 20_000_000  # nanoseconds; off by 2 ms as seen
    assert asked[0] - slack < client.here(told[0]) < heard[0] + slack
    assert asked[1] - slack < told[1] < heard[1] + slack


def test_zfs_says_the_same_whichever_way_it_is_asked(machines: VagrantNodes, client: VagrantNode) -> None:
    client.run(["zfs", "create", "-p", "tank/a/b c"])
    client.run(["zfs", "create", "-V", "8M", "tank/a/block"])
    client.run(["zfs", "snapshot", "tank/a@then"])
    told = client.run([machines.python, "-I", "-c", ASK, str(command.PACKAGES)]).stdout
    core, as_json, lines = json.loads(told)
    client.run(["zfs", "destroy", "-r", "tank/a"])
    assert core[0] == ["tank"]
    assert core[1].keys() == {"tank", "tank/a", "tank/a/b c"}
    assert core == as_json == lines


def test_packets_are_dropped_and_shaped(
    machines: VagrantNodes, client: VagrantNode, server: VagrantNode
) -> None:
    assert round_trip(client, server) is not None
    machines.links.drop([("server1", "client1")], "a")
    assert round_trip(client, server) is None
    machines.links.shape("client1", Shape(delay=0.2), "b")
    machines.links.restore("a")
    took = round_trip(client, server)
    assert took is not None
    assert 0.4 <= took < 1.0
    machines.links.restore()
    took = round_trip(client, server)
    assert took is not None
    assert took < 0.2


def test_the_reference_plugin_has_devices_and_keys_there(client: VagrantNode) -> None:
    env = [f"{name}={value}" for name, value in fixture_environment().items()]
    argv = ["env", *env, "python3", "-", client.vdev("tank")]
    seen = json.loads(client.run(argv, input=VOLUMES.read_text(), timeout=180).stdout)
    refused = {name: said for name, said in seen.items() if isinstance(said, str) and said.isupper()}
    assert {name: said for name, said in refused.items() if said != "OK"} == {
        "a zvol as files": "INVALID_ARGUMENT",
        "a zvol is staged as files": "FAILED_PRECONDITION",
        "a zvol that is used is deleted": "FAILED_PRECONDITION",
        "made without a key": "UNAUTHENTICATED",
        "made with half a key": "INVALID_ARGUMENT",
        "made again with another key": "UNAUTHENTICATED",
        "staged without a key": "UNAUTHENTICATED",
        "staged with another key": "UNAUTHENTICATED",
        "staged again with another key": "UNAUTHENTICATED",
    }
    assert {name: said for name, said in seen.items() if name not in refused} == {
        "reserved": True,
        "a device is there": True,
        "its size": 16 << 20,
        "left at its paths": [],
        "kept": True,
        "key once it is made": "unavailable",
        "key while it is staged": "available",
        "key once it is unstaged": "unavailable",
        "on the disk": {"dark": False, "clear": True},
        "key that the mutant keeps": "available",
    }


def test_a_power_cut_keeps_what_was_synced_and_no_more(machines: VagrantNodes, client: VagrantNode) -> None:
    client.run(["sh", "-c", "echo synced >/tank/kept; sync; echo not >/tank/lost; echo not >/run/lost"])
    machines.crash("client1")
    machines.crash("client1")
    with pytest.raises(MachineError, match="client1 has crashed"):
        client.run(["true"])
    machines.boot("client1")
    machines.boot("client1")
    assert pools.imported(client) == ["tank"]
    assert client.read("/tank/kept") == "synced\n"
    assert client.run(["sh", "-c", "ls /tank/lost /run/lost"], check=False).stdout == ""


def test_a_copy_knows_nothing_of_what_came_after(
    machines: VagrantNodes, client: VagrantNode, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    counting = client.start("x", ["sh", "-c", COUNT], env={}, log=log)
    machines.copy()
    for _ in range(2):
        client.run(["sh", "-c", "touch /marker && zfs create tank/marker && sync"])
        client.start("x", ["socat", "UNIX-LISTEN:/run/odd", "PIPE"], env={}, log=tmp_path / "other")
        machines.links.drop([("server1", "client1")], "a")
        began, up_for = time.monotonic(), uptime(client)
        machines.revert()
        print(f"set back in {time.monotonic() - began:.1f} s")
        assert uptime(client) < up_for  # else every lease would be over at once
        assert client.run(["test", "-e", "/marker"], check=False).code == 1
        assert client.run(["zfs", "list", "-H", "-o", "name"]).stdout.split() == ["tank"]
        assert client.run(["pidof", "socat"], check=False).code == 1
        wait_until("it counts on", partial(is_longer, log, len(log.read_text())), timeout=10)
        assert counting.alive()
        machines.links.restore()
        assert round_trip(client, machines.nodes["server1"]) is not None
    test_its_clocks_are_this_hosts(client)
    machines.crash("client1")
    machines.revert()
    assert client.run(["zfs", "list", "-H", "-o", "name"]).stdout.split() == ["tank"]
