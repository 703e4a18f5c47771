"""The device plugin makes real datasets, tells of a real pool, and can be broken."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from device_bench import SOON, DeviceBench, Servers, allocation, device_bench, servers
from stormpool.goplugin.attributes import Quantity
from stormpool.goplugin.device import Group, Mount, Reservation
from stormpool.goplugin.drive import DrivenDevice
from stormpool.goplugin.listening import Listening
from stormpool.programs import FIXTURES
from stormpool.wait import wait_until

pytestmark = pytest.mark.lab

QUIET = 1.5  # seconds in which nothing must happen; what happens does so within 0.3
Told = Listening[tuple[Group, ...]]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DeviceBench]:
    with device_bench(tmp_path) as made:
        yield made


@pytest.fixture
def api(bench: DeviceBench) -> Iterator[Servers]:
    with servers(bench) as made:
        yield made


def health(groups: tuple[Group, ...]) -> set[tuple[bool, str]]:
    return {(each.healthy, each.why) for group in groups for each in group.instances}


def is_well(groups: tuple[Group, ...]) -> bool:
    return bool(groups) and all(well for well, _ in health(groups))


def told_last(told: Told, what: str, wanted: Any) -> None:
    wait_until(what, lambda: wanted(told.said[-1]), timeout=SOON)


def never(what: str, happens: Any) -> None:
    """Watch for a while that something does not happen."""
    with pytest.raises(Exception, match="not within"):
        wait_until(what, happens, timeout=QUIET)


def test_a_namespace_is_seen_though_the_first_process_of_it_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(FIXTURES)
    namespaces = importlib.import_module("zfs_device.users")._namespaces
    before = len(list(namespaces()))
    read_text = Path.read_text
    ended: list[Path] = []

    def read(path: Path) -> str:
        """As the kernel answers when a process ends between the look at its namespace and this one."""
        if path.name == "mountinfo" and not ended:
            ended.append(path)
            raise ProcessLookupError
        return read_text(path)

    monkeypatch.setattr(Path, "read_text", read)
    assert (len(list(namespaces())), len(ended)) == (before, 1)


def write(bench: DeviceBench, made: Reservation, text: str) -> None:
    bench.shell(f"echo {text} >{made.mounts[0].host}/file")


def read(bench: DeviceBench, made: Reservation) -> str:
    return bench.shell(f"cat {made.mounts[0].host}/file 2>/dev/null || true").strip()


def test_it_tells_of_its_instances(bench: DeviceBench) -> None:
    device = bench.device(instances=2)
    assert (device.info().name, device.info().kind) == ("zfs-device", "DEVICE")
    (group,) = device.fingerprint().first(SOON)
    assert (group.vendor, group.type, group.name) == ("zfs", "dataset", "tank")
    assert [(each.id, each.healthy) for each in group.instances] == [("ds1", True), ("ds2", True)]
    assert group.attributes == {"kind": "dataset", "health": "ONLINE", "size": Quantity(123, "MiB")}


def test_a_configuration_that_cannot_be_is_refused(bench: DeviceBench) -> None:
    with pytest.raises(grpc.RpcError, match="there must be one at least"):
        bench.device(instances=0)
    with pytest.raises(grpc.RpcError, match="it must be more than 0"):
        bench.device(poll_seconds=0)


def test_a_reservation_is_a_dataset_of_its_own(bench: DeviceBench) -> None:
    device = bench.device()
    first, second = device.reserve("ds1"), device.reserve("ds2")
    assert first.mounts == (Mount("/dataset", "/devices/ds1"),)
    assert first.env == {"ZFS_DATASET": "tank/devices/ds1", "ZFS_DATASET_PATH": "/devices/ds1"}
    write(bench, first, "mine")
    assert read(bench, second) == ""
    both = device.reserve("ds3", "ds4")
    assert [each.task for each in both.mounts] == ["/dataset/ds3", "/dataset/ds4"]
    assert both.env["ZFS_DATASET"] == "tank/devices/ds3,tank/devices/ds4"


def test_what_an_earlier_holder_left_is_gone(bench: DeviceBench) -> None:
    device = bench.device()
    write(bench, device.reserve("ds1"), "earlier")
    device.plugin.kill()
    again = bench.device()
    assert bench.datasets() == ["ds1"]
    assert read(bench, again.reserve("ds1")) == ""


def test_what_a_holder_still_uses_is_not_destroyed(bench: DeviceBench) -> None:
    device = bench.device()
    made = device.reserve("ds1")
    write(bench, made, "mine")
    with bench.using(made.mounts[0].host):
        with pytest.raises(grpc.RpcError, match="busy"):
            device.reserve("ds1")
        assert read(bench, made) == "mine"
    assert read(bench, device.reserve("ds1")) == ""


def test_what_cannot_be_reserved_is_refused(bench: DeviceBench) -> None:
    device = bench.device(instances=1)
    with pytest.raises(grpc.RpcError, match="there is no instance ds2"):
        device.reserve("ds1", "ds2")
    with pytest.raises(grpc.RpcError, match="no instance is asked for"):
        device.reserve()
    bench.export()
    with pytest.raises(grpc.RpcError, match="pool tank is exported"):
        device.reserve("ds1")


def test_the_pool_is_followed(bench: DeviceBench) -> None:
    device = bench.device()
    told = device.fingerprint()
    assert is_well(told.first(SOON))
    bench.export()
    told_last(told, "it is ill", lambda said: health(said) == {(False, "pool tank is exported")})
    bench.import_again()
    told_last(told, "it is well", is_well)
    assert len(told.said) == 3
    bench.shell(f"zpool export tank && mv {bench.node.disk}/vdevs/tank.img /lab/disk/away")
    told_last(told, "it is gone", lambda said: said == ())
    bench.shell(f"mv /lab/disk/away {bench.node.disk}/vdevs/tank.img")
    bench.import_again()
    told_last(told, "it is back", is_well)


def test_a_pool_that_is_suspended_is_told_of(bench: DeviceBench) -> None:
    told = bench.device().fingerprint()
    told.first(SOON)
    bench.shell("prlimit --pid=$(pidof zfs-fuse) --fsize=0:")
    bench.node.run(["timeout", "--signal=KILL", "1", "zfs", "set", "stormpool:x=y", "tank"], check=False)
    told_last(told, "it is ill", lambda said: health(said) == {(False, "pool tank is SUSPENDED")})
    bench.shell("prlimit --pid=$(pidof zfs-fuse) --fsize=unlimited: && zpool clear tank")
    told_last(told, "it is well", is_well)


def test_a_daemon_that_is_gone_is_told_of(bench: DeviceBench) -> None:
    told = bench.device().fingerprint()
    told.first(SOON)
    bench.shell("kill -9 $(pidof zfs-fuse)")
    told_last(told, "it is ill", lambda said: "daemon" in str(health(said)) and not is_well(said))


def test_it_counts(bench: DeviceBench) -> None:
    device = bench.device(instances=2)
    made = device.reserve("ds1")
    bench.shell(f"dd if=/dev/urandom of={made.mounts[0].host}/file bs=1M count=3 conv=fsync 2>&1")
    told = device.stats(0.1)
    group = ("zfs", "dataset", "tank")
    told.until("it has grown", lambda said: said[group]["ds1"]["used"] == Quantity(3, "MiB"), SOON)
    assert told.said[-1][group]["ds2"]["used"] == Quantity(0, "MiB")


# The faults that it can be built with, each seen to differ.


def test_one_that_reuses_shows_what_an_earlier_holder_left(bench: DeviceBench) -> None:
    device = bench.device(mutant="reuses")
    write(bench, device.reserve("ds1"), "earlier")
    assert read(bench, device.reserve("ds1")) == "earlier"


def test_one_with_the_same_dataset_shows_what_another_holds(bench: DeviceBench) -> None:
    device = bench.device(mutant="same_dataset")
    write(bench, device.reserve("ds1"), "others")
    assert read(bench, device.reserve("ds2")) == "others"


def test_one_that_is_always_healthy_says_nothing_of_a_lost_pool(bench: DeviceBench) -> None:
    told = bench.device(mutant="always_healthy").fingerprint()
    told.first(SOON)
    bench.export()
    never("it tells", lambda: len(told.said) > 1)


def test_one_that_forgets_says_nothing_of_a_pool_that_is_back(bench: DeviceBench) -> None:
    told = bench.device(mutant="forgets_back").fingerprint()
    told.first(SOON)
    bench.export()
    told_last(told, "it is ill", lambda said: not is_well(said))
    bench.import_again()
    never("it tells", lambda: len(told.said) > 2)


def test_one_that_fails_does_so_once(bench: DeviceBench) -> None:
    device = bench.device(mutant="fails_fingerprint")
    told = device.fingerprint()
    assert told.ended(SOON)
    assert "cannot be looked at" in str(told.error)
    again = device.fingerprint()
    assert is_well(again.first(SOON))
    assert not again.ended(QUIET)


def test_one_that_dies_in_a_reservation_leaves_a_dataset(bench: DeviceBench) -> None:
    device = bench.device(mutant="dies_in_reserve")
    with pytest.raises(grpc.RpcError):
        device.reserve("ds1")
    assert device.plugin.process.wait(SOON) == -9
    assert bench.datasets() == ["ds1"]


# Watching the agent's API.


def watching(bench: DeviceBench, mutant: str = "") -> tuple[DrivenDevice, Told]:
    device = bench.device("--design=watching", mutant=mutant, address="unix:///lab/door/api.sock")
    told = device.fingerprint()
    told.first(SOON)
    return device, told


def alloc_of(bench: DeviceBench, name: str) -> str:
    asked = ["zfs", "get", "-H", "-o", "value", "nomad:alloc", f"tank/devices/{name}"]
    return bench.node.run(asked).stdout.strip().partition("@")[0]


def gone(bench: DeviceBench, name: str) -> None:
    wait_until(f"{name} is destroyed", lambda: name not in bench.datasets(), timeout=SOON)


def test_a_dataset_is_destroyed_once_its_allocation_is_over(bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench)
    made = device.reserve("ds1")
    assert made.mounts == (Mount("/dataset", "/devices/ds1-1"),)
    api.know(allocation("a1", 5, "pending", "ds1"))
    never("it is destroyed, or somebody's", lambda: alloc_of(bench, "ds1-1") != "-")
    api.know(allocation("a1", 5, "running", "ds1"))
    wait_until("it is a1's", lambda: alloc_of(bench, "ds1-1") == "a1", timeout=SOON)
    api.know(allocation("a1", 5, "complete", "ds1"))
    gone(bench, "ds1-1")
    assert device.reserve("ds1").mounts == (Mount("/dataset", "/devices/ds1-2"),)


def test_the_api_is_asked_only_for_news(bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench)
    device.reserve("ds1")
    api.know(allocation("a1", 5, "running", "ds1"))
    wait_until("it is a1's", lambda: alloc_of(bench, "ds1-1") == "a1", timeout=SOON)
    before = len(api.asked)
    never("it asks on", lambda: len(api.asked) > before + 1)


@pytest.mark.parametrize("how", ["error", "refused", "left out", "earlier", "lost"])
def test_what_is_no_word_of_an_end_destroys_nothing(how: str, bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench)
    device.reserve("ds1")
    device.reserve("ds2")
    mine = allocation("a1", 5, "running", "ds1")
    api.know(mine, index=20)
    wait_until("it is a1's", lambda: alloc_of(bench, "ds1-1") == "a1", timeout=SOON)
    other = allocation("a2", 6, "running", "ds3")
    happens: dict[str, Callable[[], None]] = {
        "error": lambda: api.fail(500),
        "refused": lambda: api.fail(403),
        "left out": lambda: api.leave_out("a1"),
        "earlier": lambda: api.know(other, index=3),
        "lost": lambda: api.know({**mine, "ClientStatus": "lost"}, other),
    }
    happens[how]()
    never("one is destroyed", lambda: len(bench.datasets()) < 2)


def test_one_whose_allocation_was_purged_is_destroyed(bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench)
    device.reserve("ds1")
    api.know(allocation("a1", 5, "running", "ds1"))
    wait_until("it is a1's", lambda: alloc_of(bench, "ds1-1") == "a1", timeout=SOON)
    device.plugin.kill()
    api.know(allocation("a2", 9, "running", "ds2"))
    watching(bench)
    gone(bench, "ds1-1")


def test_a_plugin_that_was_killed_knows_all_it_must(bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench)
    device.reserve("ds1")
    api.know(allocation("a1", 5, "running", "ds1"))
    wait_until("it is a1's", lambda: alloc_of(bench, "ds1-1") == "a1", timeout=SOON)
    device.plugin.kill()
    api.know(allocation("a1", 5, "failed", "ds1"))
    device, _ = watching(bench)
    gone(bench, "ds1-1")
    device.reserve("ds1")
    assert bench.datasets() == ["ds1-2"]
    never("it is a1's, too", lambda: alloc_of(bench, "ds1-2") != "-")
    ended, next_one = allocation("a1", 5, "failed", "ds1"), allocation("a2", 8, "running", "ds1")
    api.know(ended, next_one)
    wait_until("it is a2's", lambda: alloc_of(bench, "ds1-2") == "a2", timeout=SOON)


def test_an_instance_reserved_twice_by_one_allocation(bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench)
    device.reserve("ds1")
    device.reserve("ds1")
    api.know(allocation("a1", 5, "running", "ds1"))
    wait_until("both are a1's", lambda: alloc_of(bench, "ds1-1") == "a1", timeout=SOON)
    assert alloc_of(bench, "ds1-2") == "a1"
    api.know(allocation("a1", 5, "complete", "ds1"))
    wait_until("both are gone", lambda: bench.datasets() == [], timeout=SOON)


def test_what_is_still_used_is_destroyed_later(bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench)
    made = device.reserve("ds1")
    with bench.using(made.mounts[0].host):
        api.know(allocation("a1", 5, "complete", "ds1"))
        never("it is destroyed", lambda: bench.datasets() == [])
    gone(bench, "ds1-1")


def test_an_api_that_is_not_up_yet_is_waited_for(bench: DeviceBench) -> None:
    device, _ = watching(bench)
    device.reserve("ds1")
    with servers(bench) as api:
        api.know(allocation("a1", 5, "complete", "ds1"))
        gone(bench, "ds1-1")


def test_one_that_is_eager_takes_an_error_for_an_end(bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench, "eager")
    api.know(allocation("a1", 5, "running", "ds1"))
    device.reserve("ds1")
    never("it is destroyed", lambda: bench.datasets() == [])
    api.fail(500)
    gone(bench, "ds1-1")


def test_one_that_is_eager_takes_less_for_an_end(bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench, "eager")
    api.know(allocation("a1", 5, "running", "ds1"))
    device.reserve("ds1")
    never("it is destroyed", lambda: bench.datasets() == [])
    api.know()
    gone(bench, "ds1-1")


def test_one_that_never_looks_destroys_nothing(bench: DeviceBench, api: Servers) -> None:
    device, _ = watching(bench, "never")
    device.reserve("ds1")
    api.know(allocation("a1", 5, "complete", "ds1"))
    never("it is destroyed", lambda: bench.datasets() == [])
    assert api.asked == []
