"""Audits of a lab's nodes: well nodes pass, and each thing that is broken for real fails its own audit.

One lab, in which a task writes to a CSI volume, and another runs under a driver that is a plugin.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from auditing import audited, pytest_argv
from probes import python
from stormpool import workloads
from stormpool.cluster import Cluster
from stormpool.errors import CommandFailed
from stormpool.lab import Lab
from stormpool.node import Node, Process
from stormpool.plugins import csi, driver
from stormpool.runner import Asked, running
from stormpool.wait import wait_until
from stormpool.workloads import Kind, attaching
from stormpool.workloads.tasks import job

pytestmark = pytest.mark.lab

GONE = "00000000-dead-4bad-8bad-000000000000"  # an allocation that never was
CSI = "/nomad/client/csi/monolith/zfs"
USE = "vol9/rw-file-system-single-node-writer"
COOKIE = "NOMAD_PLUGIN_MAGIC_COOKIE"
READY = "ready\n"
# Leaves a child that has ended, a copy of an agent's program, and does not wait for it.
NEGLIGENT = """
import os, sys
child = os.posix_spawn(sys.argv[1], [sys.argv[1], "version"], {}, file_actions=[(os.POSIX_SPAWN_CLOSE, 1)])
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
print("ready", flush=True)
sys.stdin.read() or __import__("signal").pause()
"""
# A thread of it sleeps uninterruptibly until its child ends, as who calls vfork(2) does; that ends with it.
STUCK = """
import ctypes, os, signal, sys, threading
libc = ctypes.PyDLL(None)  # nobody else has the interpreter's lock when the child begins
CLONE_VFORK, SYS_clone, PR_SET_PDEATHSIG = 0x4000, 56, 1
def sleeps():
    if libc.syscall(SYS_clone, CLONE_VFORK | signal.SIGCHLD, 0, 0, 0, 0) == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        print("ready", flush=True)
        signal.pause()
threading.Thread(target=sleeps).start()
"""
BIND = "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The lab, written down as `stormpool up` does it."""
    lab = Lab(servers=1, clients=1, plugins=[csi.zfs(), driver.zfs()])
    out = tmp_path_factory.mktemp("runs")
    with running(Asked(lab=lab, scenario="audits", nomad="1.10.5", out=out, seed=1)) as up:
        up.create_volumes(1)
        attaching.attach(up, workloads.consumer("writer", "vol1", up.task_driver), "vol1", 60)
        attaching.attach(up, job("driven", Kind(node="client1")), "driven", 60)
        yield up


@pytest.fixture(scope="module")
def node(cluster: Cluster) -> Node:
    return cluster.nodes["client1"]


@pytest.fixture
def client(cluster: Cluster) -> str:
    """The client, as testinfra names it. Each test has a ledger of its own."""
    return f"stormpool://{cluster.keep({}).lab_id}/client1"


@pytest.fixture
def nomad(cluster: Cluster) -> str:
    """The agent's program."""
    return agent(cluster).partition(" ")[0]


def agent(cluster: Cluster) -> str:
    """The command line of the client's agent."""
    return next(
        each.argv for each in cluster.look("client1").processes if each.argv.split()[1:2] == ["agent"]
    )


def test_nodes_that_are_well_pass(cluster: Cluster, client: str, tmp_path: Path) -> None:
    every = audited(client.removesuffix("/client1"), tmp_path)
    assert every.failed == {}
    assert every.skipped == {  # on the server
        "every_pool_is_online",
        "no_pool_has_errors",
        "no_pool_is_full",
        "every_zfs_mount_has_its_dataset",
        "no_dataset_is_left",
    }
    assert every.passed >= every.skipped  # on the client, all are judged
    assert "[stormpool://" in (tmp_path / "audits.xml").read_text()


def test_the_same_from_within(cluster: Cluster, node: Node, tmp_path: Path) -> None:
    """The backend of testinfra's for the host it runs on, as on any host."""
    seen = node.run(["sh", "-c", f"cd /run && exec {' '.join(pytest_argv('local://', Path('/run')))} -rs"])
    assert re.search(r"\d+ passed in", seen.stdout), seen.stdout


@dataclass(frozen=True)
class Harm:
    """What is broken on a node, how that is undone, and what audits find then: a pattern for each finding."""

    found: dict[str, tuple[str, ...]]
    do: str = ""
    undo: str = ""


TWICE = "target=$(grep -o '/nomad/client/csi/[^ ]*/per-alloc/[^ ]*' /proc/mounts | head -n1)"
HARMS = (
    Harm(
        {"every_pool_is_online": ("pool ill is DEGRADED",)},
        "cd /lab/disk && truncate -s 64M a b"
        " && zpool create ill mirror $PWD/a $PWD/b && zpool offline ill $PWD/b",
        "zpool destroy ill",
    ),
    Harm(
        {"no_pool_has_errors": ("pool hurt: One or more devices has experienced an unrecoverable error.*",)},
        "cd /lab/disk && truncate -s 64M c d && zpool create hurt mirror $PWD/c $PWD/d && zpool list -H"
        " && dd if=/dev/urandom of=/hurt/file bs=1M count=16 conv=fsync"
        " && dd if=/dev/urandom of=c bs=1M seek=5 count=50 conv=notrunc && zpool scrub hurt",
        "zpool destroy hurt",
    ),
    Harm(
        {"no_pool_is_full": (r"pool brim is 9\d % full, more than 90 %",)},
        "cd /lab/disk && truncate -s 400M e && zpool create brim $PWD/e"
        " && ! dd if=/dev/zero of=/brim/file bs=4M",
        "zpool destroy brim",
    ),
    Harm(
        {
            "every_mount_has_its_allocation": (
                f".* is mounted at {CSI}/per-alloc/{GONE}/{USE}: of allocation 00000000, .* is gone",
                f".* is mounted at {CSI}/staging/default/{USE}: staged, and published for no allocation",
            )
        },
        f"for at in per-alloc/{GONE} staging/default; do"
        f" mkdir -p {CSI}/$at/{USE} && mount --bind /tank {CSI}/$at/{USE}; done",
        f"umount {CSI}/per-alloc/{GONE}/{USE} {CSI}/staging/default/{USE}",
    ),
    Harm(
        {  # what is mounted over one is over its peers, too (mount_namespaces(7))
            "nothing_is_mounted_twice": (
                f"2 file systems are mounted over one another at {CSI}/per-alloc/.*",
                f"2 file systems are mounted over one another at {CSI}/staging/.*",
                "2 file systems are mounted over one another at /volumes/vol1",
            )
        },
        f"{TWICE}; mount --bind /volumes/vol1 $target",
        f"{TWICE}; umount $target",
    ),
    Harm(
        {
            "no_socket_is_dead": (
                f"nobody listens at /nomad/client/csi/plugins/{GONE}/csi.sock",
                "nobody listens at /run/tmp/plugin1234567",
            )
        },
        f"mkdir /nomad/client/csi/plugins/{GONE} && for at in /nomad/client/csi/plugins/{GONE}/csi.sock"
        f" /run/tmp/plugin1234567; do {sys.executable} -c '{BIND}' $at; done",
        f"rm -r /nomad/client/csi/plugins/{GONE} /run/tmp/plugin1234567",
    ),
    Harm(
        {
            "no_dataset_is_left": (
                "dataset tank/named is of .*",
                "dataset tank/placed is of allocation 00000000, .*",
            )
        },
        f"zfs create -o canmount=off -o mountpoint=/nomad/alloc/{GONE}/t tank/placed"
        f" && zfs create -o canmount=off -o nomad:alloc={GONE}@7 tank/named",
        "zfs destroy tank/placed; zfs destroy tank/named",
    ),
    Harm(
        {"no_cgroup_is_left": (f"cgroup .*/{GONE}.t is of allocation 00000000, whose directory is gone",)},
        f"mkdir $(find /sys/fs/cgroup -maxdepth 3 -type d -path '*/nomad*' | head -n1)/{GONE}.t",
        f"rmdir $(find /sys/fs/cgroup -maxdepth 4 -type d -name {GONE}.t)",
    ),
    Harm(
        {"no_network_namespace_is_left": (f"network namespace {GONE} is of allocation 00000000, .*",)},
        f"ip netns add {GONE}",
        f"ip netns delete {GONE}",
    ),
)


def processes(nomad: str) -> Iterator[tuple[list[str], dict[str, str], Harm]]:
    """What runs and should not, each with what it says when it does."""
    cookie = {COOKIE: "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255"}
    orphan = ("process .* executor .* is an executor of allocation 00000000, whose directory is gone",)
    unheard = "process .* listens at /run/tmp/plugin.*, and no agent is connected to it"
    tap = "process .* listens at /run/tmp/tap.*, and no agent is connected to it"
    log = json.dumps({"LogFile": f"/nomad/alloc/{GONE}/t/executor.out", "LogLevel": "debug"})
    yield (
        [nomad, "executor", log],
        {**cookie, "PLUGIN_PROTOCOL_VERSIONS": "2"},
        Harm(
            {"every_executor_has_its_task": orphan, "every_plugin_has_its_agent": (unheard,)},
            do=f"mkdir -p /nomad/alloc/{GONE}/t",
            undo=f"rm -r /nomad/alloc/{GONE}",
        ),
    )
    yield (
        [f"/nomad/plugins/{driver.zfs().id}"],
        {**cookie, "PLUGIN_PROTOCOL_VERSIONS": "2"},
        Harm(
            {
                "every_plugin_runs_once": ("plugin .* runs 2 times: .*",),
                "every_plugin_has_its_agent": (tap, unheard),
            }
        ),
    )
    zombie = r"process \d+ \(nomad\) has ended; its parent is process .*"
    yield python(NEGLIGENT, nomad), {}, Harm({"nobody_leaves_zombies": (zombie,)})
    yield (
        python(STUCK),
        {},
        Harm({"nobody_is_stuck": ("thread .* of process .* is in uninterruptible sleep, after .*",)}),
    )
    left = r"process \d+ \(.*\) is of allocation 00000000, whose directory is gone"
    lasting = python('print("ready", flush=True); __import__("signal").pause()')
    yield lasting, {"NOMAD_ALLOC_ID": GONE}, Harm({"no_process_is_left": (left,)})


def test_each_harm_fails_its_own_audits(node: Node, client: str, nomad: str, tmp_path: Path) -> None:
    wanted: dict[str, list[str]] = defaultdict(list)
    with harmed(node, nomad, tmp_path) as harms:
        seen = audited(client, tmp_path)
    for name, patterns in (each for harm in harms for each in harm.found.items()):
        wanted[name] += patterns
    assert seen.failed.keys() == wanted.keys()
    others = {name: found for name, found in seen.failed.items() if not fit(found, wanted[name])}
    assert others == {}
    assert audited(client, tmp_path).failed == {}


def fit(found: list[str], patterns: list[str]) -> bool:
    """Whether there is one finding for each pattern, and no other."""
    each = all(any(re.fullmatch(pattern, what) for what in found) for pattern in patterns)
    return each and len(found) == len(patterns)


@contextmanager
def harmed(node: Node, nomad: str, logs: Path) -> Iterator[list[Harm]]:
    """All harms at once, and none afterwards."""
    running: list[Process] = []
    node.run(["touch", "/run/harmed"])
    try:
        for harm in HARMS:
            node.run(["sh", "-c", harm.do])
        for argv, env, harm in processes(nomad):
            log = logs / f"{len(running)}.log"
            node.run(["sh", "-c", harm.do])
            running.append(node.start("harm", argv, env=env, log=log))
            wait_until("it runs", log.read_text, lambda said: "|unix|" in said or READY in said, timeout=30)
            node.run(["sh", "-c", harm.undo])
        status = ["zpool", "status", "hurt"]
        wait_until(
            "scrubbed", lambda: node.run(status).stdout, lambda said: "progress" not in said, timeout=30
        )
        yield [*HARMS, *(harm for _, _, harm in processes(nomad))]
    finally:
        for process in running:
            process.signal(9)
            process.wait(10)
        for harm in HARMS:  # what was unmounted is busy for a moment (docs/zfs-fuse.md)
            undone = partial(node.run, ["sh", "-c", harm.undo])
            wait_until("it is undone", undone, lambda _: True, timeout=10, ignoring=(CommandFailed,))
        node.run(["find", "/run/tmp", "-type", "s", "-newer", "/run/harmed", "-delete"])


def test_what_dead_daemons_leave(cluster: Cluster, node: Node, client: str, tmp_path: Path) -> None:
    """Of an agent that was killed all that it kept is left, and of a daemon of ZFS the mounts.

    The last test of this lab: there is no way back.
    """
    running = cluster.look("client1").processes
    dead = [each.pid for each in running if each.name == "zfs-fuse" or each.argv == agent(cluster)]
    node.run(["kill", "-KILL", *map(str, dead)])
    failed = audited(client, tmp_path).failed
    assert failed.keys() == {
        "every_mount_has_its_allocation",
        "every_zfs_mount_has_its_dataset",
        "every_executor_has_its_task",
        "every_plugin_has_its_agent",
        "no_process_is_left",
        "no_cgroup_is_left",
    }
    assert (
        "tank is mounted at /tank: no pool that is imported has it"
        in failed["every_zfs_mount_has_its_dataset"]
    )
    executors = [each for each in running if each.is_executor]
    assert len(failed["every_executor_has_its_task"]) == len(executors) >= 4
    left = failed["no_process_is_left"]
    assert all(each.endswith("and no Nomad client runs here") for each in left)
    assert sum("logmon" in each for each in left) == sum(each.is_logmon for each in running)
