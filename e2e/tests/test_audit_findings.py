"""What audits make of what nodes say, as nodes have said it; and how a lab's nodes are reached."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testinfra.backend import get_backends

from stormpool import ledger
from stormpool.audit import allocations, backend, look, mounts, pools, processes, remains, sockets
from stormpool.audit.look import Look
from stormpool.audit.mounts import Mount
from stormpool.audit.pools import Pool
from stormpool.audit.processes import COOKIE, Process
from stormpool.audit.sockets import Socket
from stormpool.errors import Misuse

LIVE = "a1a19143-cd22-2e8d-55bd-5519a049e6d5"
GONE = "00000000-dead-4bad-8bad-000000000000"
CSI = "/nomad/client/csi/monolith/zfs"
USE = "vol1/rw-file-system-single-node-writer"
AGENT = Process(329, 1, "S", "nomad", words=("/bin/nomad", "agent"), paths=("/nomad/client/state.db",))
EXECUTOR = Process(
    725,
    329,
    "S",
    "nomad",
    words=("/bin/nomad", "executor", f'{{"LogFile":"/nomad/alloc/{LIVE}/writer/executor.out"}}'),
    environment={COOKIE: "e4327c2e"},
    sockets=frozenset({11}),
)
TASK = Process(736, 725, "S", "sh", environment={"NOMAD_ALLOC_ID": LIVE, "NOMAD_TASK_NAME": "writer"})
PLUGIN = Process(
    204, 329, "S", "zfs", words=("/opt/zfs",), environment={COOKIE: "e4327c2e"}, sockets=frozenset({12})
)
HEARD = (
    Socket("/tmp/plugin2026074537", 11, listens=True, connected=False),
    Socket("/tmp/plugin2026074537", 21, listens=False, connected=True),
    Socket("/tmp/plugin-dir7/plugin8", 12, listens=True, connected=False),
    Socket("/tmp/plugin-dir7/plugin8", 22, listens=False, connected=True),
)


def seen(*running: Process, **more: object) -> Look:
    """A node where all is well, but for what is said."""
    well = Look({each.pid: each for each in (AGENT, EXECUTOR, TASK, PLUGIN, *running)}, sockets=HEARD)
    return replace(well, **{"known": frozenset({LIVE}), **more})  # type: ignore[arg-type]


def without(pid: int, **more: object) -> Look:
    """The same, with one process less."""
    well = seen(**more)
    return replace(well, processes={each: what for each, what in well.processes.items() if each != pid})


@pytest.mark.parametrize(
    ("path", "alloc"),
    [
        (f"/opt/nomad/data/alloc/{LIVE}/web/secrets", LIVE),
        (f"/opt/nomad/data/alloc/{LIVE}", LIVE),
        (f"/opt/nomad/data/alloc_mounts/{LIVE}/web", LIVE),
        (f"{CSI}/per-alloc/{LIVE}/{USE}", LIVE),
        (f"/srv/allocs/{LIVE}/alloc/logs/web.stdout.0", LIVE),
        (f'{{"LogFile":"/srv/allocs/{LIVE}/web/executor.out"}}', LIVE),
        (f"{CSI}/staging/default/{USE}", ""),
        (f"/srv/volumes/{LIVE}/data", ""),
        (f"/var/lib/docker/volumes/alloc/{LIVE}0", ""),
    ],
)
def test_an_allocation_is_known_by_its_paths(path: str, alloc: str) -> None:
    assert allocations.of(path) == alloc


def test_data_directories_are_known_by_what_is_in_them() -> None:
    paths = [f"/opt/nomad/data/alloc/{LIVE}/web/secrets", f"{CSI}/staging/default/{USE}", "/tank"]
    assert allocations.data_dirs(paths) == {"/opt/nomad/data", "/nomad"}
    assert allocations.roots([f"/srv/allocs/{LIVE}/alloc/logs/web.stdout.0"]) == {"/srv/allocs"}


def test_processes_are_read_as_the_kernel_tells_them() -> None:
    said = f"""
== stat
725 (nomad) S 329 725 725 0 -1 4194304 4127 0 2 0 8 4 0 0 20 0 11 0 143210 0 0 0
740 (a (b) c) Z 725 725 725 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 143219 0 0 0
 c) S 329 725
== stuck
725/task/731/status:voluntary_ctxt_switches:\t172
== words
725/cmdline:/bin/nomad
725/cmdline:executor
725/cmdline:{{"LogFile":"/nomad/alloc/{LIVE}/writer/executor.out","LogLevel":"debug"}}
== environment
725/environ:{COOKIE}=e4327c2e
725/environ:TMPDIR=/run/tmp
== links
725/cwd /nomad/alloc/{LIVE}/a dir
725/fd/7 socket:[108812]
"""
    found = processes.parsed(look.sections(said))
    assert set(found) == {725, 740}
    executor = found[725]
    assert (executor.parent, executor.state, executor.started, dict(executor.stuck)) == (
        329,
        "S",
        143210,
        {731: 172},
    )
    assert (executor.alloc, executor.companion, executor.is_plugin) == (LIVE, "executor", False)
    assert executor.sockets == {108812}
    assert executor.paths == (f"/nomad/alloc/{LIVE}/a dir",)
    assert (found[740].name, found[740].state) == ("a (b) c", "Z")


def test_where_all_is_well_nothing_is_found() -> None:
    well = seen()
    for judge in (
        processes.orphaned_executors,
        processes.doubled_plugins,
        processes.zombies,
        processes.stuck,
        mounts.of_nobody,
        mounts.stacked,
        sockets.dead,
        sockets.unheard,
        remains.processes,
        remains.cgroups,
        remains.namespaces,
    ):
        assert list(judge(well)) == []


def test_an_executor_without_its_task_is_told() -> None:
    (found,) = processes.orphaned_executors(without(TASK.pid))
    assert found.startswith("process 725 (nomad executor")
    assert found.endswith("of allocation a1a19143, and its task has ended")
    (found,) = processes.orphaned_executors(seen(known=frozenset()))
    assert found.endswith("of allocation a1a19143, whose directory is gone")
    (found,) = processes.orphaned_executors(without(AGENT.pid))
    assert found.endswith("of allocation a1a19143, and no Nomad client runs here")


def test_a_plugin_that_runs_twice_is_told_and_its_children_are_not() -> None:
    child = replace(PLUGIN, pid=205, parent=PLUGIN.pid)
    assert list(processes.doubled_plugins(seen(child))) == []
    (found,) = processes.doubled_plugins(seen(child, replace(PLUGIN, pid=99, parent=1)))
    assert found == "plugin /opt/zfs runs 2 times: processes 204, 99"
    ones, others = (replace(PLUGIN, pid=pid, words=(f"/opt/{'x' * 90}/{pid}",)) for pid in (97, 98))
    assert list(processes.doubled_plugins(seen(ones, others))) == []


def test_who_has_the_files_of_all_tasks_open_is_of_no_allocation() -> None:
    """A driver's plugin opens its tasks' outputs by itself (nomad, client/lib/fifo)."""
    fifo = (f"/nomad/alloc/{LIVE}/alloc/logs/.web.stdout.fifo", f"/nomad/alloc/{GONE}/web/x")
    holding = replace(PLUGIN, paths=fifo)
    assert (holding.alloc, holding.is_plugin) == ("", True)
    (found,) = processes.doubled_plugins(seen(holding, replace(holding, pid=99, parent=1)))
    assert found == "plugin /opt/zfs runs 2 times: processes 204, 99"
    agent = replace(AGENT, paths=(*AGENT.paths, *fifo))
    assert list(remains.processes(seen(agent, holding))) == []
    assert replace(TASK, environment={}, paths=fifo).alloc == LIVE


def test_a_client_is_known_wherever_it_keeps_its_state() -> None:
    elsewhere = replace(AGENT, paths=("/srv/state/state.db",))
    assert elsewhere.is_client
    assert (elsewhere.data_dirs, AGENT.data_dirs) == (set(), {"/nomad"})
    assert not replace(AGENT, paths=("/nomad/server/raft/raft.db",)).is_client


def test_sockets_are_looked_for_below_a_place_that_ends_in_a_stroke() -> None:
    places = [replace(PLUGIN, environment={COOKIE: "x", "TMPDIR": at}) for at in ("/opt/tmp/", "/")]
    asked = look.files(places, ())
    assert "find /opt/tmp -maxdepth 2 -type s -path /opt/tmp/'plugin*'" in asked
    assert asked.count("find ") == 2  # the other is /tmp


def test_two_tasks_of_one_csi_plugin_are_told() -> None:
    said = {"CSI_ENDPOINT": "unix:///csi/csi.sock", "NOMAD_JOB_ID": "zfs", "NOMAD_TASK_NAME": "plugin"}
    one, child, other = (
        Process(pid, parent, "S", "zfs_csi", environment={**said, "NOMAD_ALLOC_ID": alloc})
        for pid, parent, alloc in ((20, 1, LIVE), (21, 20, LIVE), (30, 1, GONE))
    )
    assert list(processes.doubled_plugins(seen(one, child))) == []
    (found,) = processes.doubled_plugins(seen(one, child, other))
    assert found == "CSI plugin task plugin of job zfs runs 2 times: processes 20, 30"


def test_zombies_and_the_stuck_are_told() -> None:
    strangers = [Process(41, 40, "Z", "cc"), Process(42, 2, "D", "kworker/0:1"), Process(43, 40, "Z", "zfs")]
    assert not [*processes.zombies(seen(*strangers)), *processes.stuck(seen(*strangers))]
    (found,) = processes.zombies(seen(Process(50, PLUGIN.pid, "Z", "zfs")))
    assert found == "process 50 (zfs) has ended; its parent is process 204 (zfs)"
    (found,) = processes.zombies(seen(Process(52, 1, "Z", "zfs")))
    assert found.startswith("process 52 (zfs) has ended")
    (leader, thread) = processes.stuck(seen(Process(51, 1, "D", "ls", stuck={51: 7, 60: 2})))
    assert leader == "process 51 (ls) is in uninterruptible sleep, after 7 switches"
    assert thread == "thread 60 of process 51 (ls) is in uninterruptible sleep, after 2 switches"


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_mount_points_are_read_as_they_are(point: str) -> None:
    mangled = "".join(f"\\{ord(each):03o}" if each in " \t\n\\#" else each for each in point)
    assert mounts.unescaped(mangled) == point


def test_mounts_of_nobody_are_told() -> None:
    staged = Mount("vol1", f"{CSI}/staging/default/{USE}", "zfs")
    published = Mount("vol1", f"{CSI}/per-alloc/{LIVE}/{USE}", "zfs")
    assert list(mounts.of_nobody(seen(mounts=(staged, published)))) == []
    (found,) = mounts.of_nobody(seen(mounts=(staged,)))
    assert found.endswith(": staged, and published for no allocation")
    both = list(mounts.of_nobody(seen(mounts=(staged, published), known=frozenset())))
    assert both[0].endswith(": staged, and published for no allocation")
    assert both[1].endswith(": of allocation a1a19143, whose directory is gone")
    assert len(list(mounts.of_nobody(without(AGENT.pid, mounts=(staged, published))))) == 2
    older = Mount("vol1", f"{CSI}/staging/{USE}", "zfs")  # before Nomad 1.8 without a namespace
    assert list(mounts.of_nobody(seen(mounts=(older, published)))) == []
    named = [Mount("a", each.point.replace("/vol1/", "/ro-data/"), "zfs") for each in (staged, published)]
    assert list(mounts.of_nobody(seen(mounts=named))) == []
    below = Mount("/dev/zvol/tank/vol1", f"{staged.point}/device", "devtmpfs")
    assert list(mounts.of_nobody(seen(mounts=(below, published)))) == []


def test_stacked_mounts_and_those_without_a_dataset_are_told() -> None:
    tank, boot = Mount("tank", "/tank", "zfs"), Mount("systemd-1", "/proc/sys/fs/binfmt_misc", "autofs")
    snapshot = Mount("tank@monday", "/tank/.zfs/snapshot/monday", "zfs")
    well = seen(mounts=(tank, snapshot, boot, boot))
    assert not [*mounts.stacked(well), *mounts.without_dataset(well, {"tank"})]
    (found,) = mounts.stacked(seen(mounts=(tank, tank)))
    assert found == "2 file systems are mounted over one another at /tank"
    (found,) = mounts.without_dataset(seen(mounts=(tank, boot)), {"tank/vol1"})
    assert found == "tank is mounted at /tank: no pool that is imported has it"


UNIX = """\
Num       RefCount Protocol Flags    Type St Inode Path
00000000caf956e6: 00000002 00000000 00010000 0001 01 101564 /run/tmp/plugin1304110511
0000000042e51c71: 00000003 00000000 00000000 0001 03 101812 /run/tmp/plugin1304110511
00000000fa128f93: 00000003 00000000 00000000 0001 03 101826
000000002115e8e5: 00000002 00000000 00010000 0001 01 102433 /csi/csi.sock
"""


def test_sockets_are_read_as_the_kernel_tells_them() -> None:
    assert sockets.parsed(UNIX.splitlines()) == [
        Socket("/run/tmp/plugin1304110511", 101564, listens=True, connected=False),
        Socket("/run/tmp/plugin1304110511", 101812, listens=False, connected=True),
        Socket("/csi/csi.sock", 102433, listens=True, connected=False),
    ]


def test_sockets_without_anybody_are_told() -> None:
    inside = (
        f"/nomad/client/csi/plugins/{LIVE}/csi.sock"  # which the plugin's container sees as /csi/csi.sock
    )
    serving = replace(TASK, pid=800, sockets=frozenset({102433}))
    bound = {"sockets": (*HEARD, *sockets.parsed(UNIX.splitlines())), "socket_files": (inside,)}
    assert list(sockets.dead(seen(serving, **bound))) == []
    assert list(sockets.dead(seen(**bound))) == [f"nobody listens at {inside}"]
    assert list(sockets.dead(seen(socket_files=("/tmp/plugin1",)))) == ["nobody listens at /tmp/plugin1"]


def test_plugins_and_executors_that_nobody_talks_to_are_told() -> None:
    found = list(sockets.unheard(seen(sockets=[each for each in HEARD if each.listens])))
    assert len(found) == 2
    assert (
        found[1] == "process 204 (zfs) listens at /tmp/plugin-dir7/plugin8, and no agent is connected to it"
    )


def test_what_is_left_of_allocations_is_told() -> None:
    assert len(list(remains.processes(seen(known=frozenset())))) == 1
    group, mine = "/sys/fs/cgroup/nomad.slice/share.slice", f"{LIVE}.web.scope 736"
    well = seen(
        cgroups=(f"{group}/{mine}", f"/sys/fs/cgroup/freezer/nomad/{GONE} 12"), namespaces=(LIVE, "blue")
    )
    assert not [*remains.cgroups(well), *remains.namespaces(well)]
    left = seen(
        cgroups=(f"{group}/{GONE}.web.scope ", f"/sys/fs/cgroup/freezer/nomad/{GONE} "), namespaces=(GONE,)
    )
    assert list(remains.cgroups(left)) == [
        f"cgroup {group}/{GONE}.web.scope is of allocation 00000000, whose directory is gone",
        f"cgroup /sys/fs/cgroup/freezer/nomad/{GONE} is empty",
    ]
    assert len(list(remains.namespaces(left))) == 1


def test_datasets_say_whose_they_are() -> None:
    said = f"tank\t/tank\t-\ntank/a\t/nomad/alloc/{GONE}/t\t-\ntank/b\t/b\t{GONE}@7\ntank/c\t/c\t{LIVE}@8\n"
    found = remains.datasets(said)
    assert [each.alloc for each in found] == ["", GONE, GONE, LIVE]
    told = list(remains.of_datasets(seen(), found))
    assert [each.split()[1] for each in told] == ["tank/a", "tank/b"]


def test_pools_are_judged_by_what_zpool_list_says() -> None:
    found = pools.listed("hurt\tONLINE\t27%\nill\tDEGRADED\t0%\nbrim\tONLINE\t91\ngone\tFAULTED\t-\n")
    assert found[0] == Pool("hurt", "ONLINE", 27)
    assert list(pools.ill(found)) == ["pool ill is DEGRADED", "pool gone is FAULTED"]
    assert list(pools.full(found)) == ["pool brim is 91 % full, more than 90 %"]


TROUBLES = """\
  pool: hurt
 state: ONLINE
status: One or more devices has experienced an unrecoverable error.  An
\tattempt was made to correct the error.  Applications are unaffected.
action: Determine if the device needs to be replaced, and clear the errors
\tusing 'zpool clear' or replace the device with 'zpool replace'.
   see: http://www.sun.com/msg/ZFS-8000-9P
 scrub: scrub completed after 0h0m with 0 errors on Sun Nov 22 10:45:01 2026
config:

\tNAME             STATE     READ WRITE CKSUM
\thurt             ONLINE       0     0     0
\t  mirror-0       ONLINE       0     0     0
\t    /lab/disk/c  ONLINE       0     0   353  15.3M repaired
\t    /lab/disk/d  ONLINE       0     0     0

errors: No known data errors

  pool: ill
 state: DEGRADED
status: One or more devices has been taken offline by the administrator.
\tSufficient replicas exist for the pool to continue functioning in a
\tdegraded state.
action: Online the device using 'zpool online' or replace the device with
\t'zpool replace'.
 scrub: none requested
config:

\tNAME             STATE     READ WRITE CKSUM
\till              DEGRADED     0     0     0

errors: No known data errors
"""


def test_errors_are_told_by_zpool_status_in_words() -> None:
    both = [Pool("hurt", "ONLINE", 27), Pool("ill", "DEGRADED", 0)]
    (found,) = pools.troubles(TROUBLES, both)  # of the other, its health is told
    assert found.startswith(
        "pool hurt: One or more devices has experienced an unrecoverable error. An attempt"
    )
    assert found.endswith("Applications are unaffected.")
    assert list(pools.troubles("all pools are healthy\n", both)) == []


STATUS = """
{"output_version":{"command":"zpool status","vers_major":0,"vers_minor":1},"pools":{
"hurt":{"name":"hurt","state":"ONLINE","scan_stats":{"function":"SCRUB","state":"FINISHED","errors":0},
"vdevs":{"hurt":{"name":"hurt","vdev_type":"root","state":"ONLINE","read_errors":0,"write_errors":0,
"checksum_errors":0,"vdevs":{"mirror-0":{"name":"mirror-0","vdev_type":"mirror","state":"ONLINE",
"read_errors":0,"write_errors":0,"checksum_errors":0,"vdevs":{
"/root/c":{"name":"/root/c","vdev_type":"file","path":"/root/c","state":"ONLINE","self_healed":15925760,
"read_errors":0,"write_errors":0,"checksum_errors":167,"slow_ios":0},
"/root/d":{"name":"/root/d","vdev_type":"file","path":"/root/d","state":"ONLINE","read_errors":0,
"write_errors":0,"checksum_errors":0,"slow_ios":0}}}}}},"error_count":0},
"ill":{"name":"ill","state":"DEGRADED","vdevs":{"ill":{"name":"ill","vdev_type":"root","state":"DEGRADED",
"read_errors":0,"write_errors":0,"checksum_errors":0,"vdevs":{
"/root/b":{"name":"/root/b","vdev_type":"file","path":"/root/b","state":"OFFLINE","read_errors":0,
"write_errors":0,"checksum_errors":0,"slow_ios":0}}}},
"spares":{"/root/s":{"name":"/root/s","vdev_type":"file","path":"/root/s","class":"spare","state":"AVAIL"}},
"l2cache":{"/root/f":{"name":"/root/f","vdev_type":"file","path":"/root/f","state":"REMOVED","read_errors":2,
"write_errors":0,"checksum_errors":0}},"error_count":7}}}
"""  # of OpenZFS 2.3.9, shortened; the cache and the count of data errors are ours


def test_devices_and_errors_are_told_by_zpool_status_as_json() -> None:
    status = json.loads(STATUS)
    assert list(pools.ill_devices(status)) == [
        "file /root/b of pool ill is OFFLINE",
        "file /root/f of pool ill is REMOVED",
    ]
    assert list(pools.errors(status)) == [
        "pool ill has 7 data errors",
        "file /root/c of pool hurt had 167 checksum errors",
        "file /root/f of pool ill had 2 read errors",
    ]


@pytest.fixture
def labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One lab that is up, whose nodes are this host."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    nodes = {"server1": ["sh", "-c"], "client1": ["sh", "-c"]}
    ledger.Entry("cafe", tmp_path).write(kept=True, nodes=nodes, by_line=True)


@pytest.mark.parametrize(
    ("hosts", "nodes"),
    [
        ("stormpool://", ["cafe/server1", "cafe/client1"]),
        ("stormpool://cafe", ["cafe/server1", "cafe/client1"]),
        ("stormpool://cafe/client1", ["cafe/client1"]),
        ("stormpool:///client1", ["cafe/client1"]),
    ],
)
def test_hosts_are_the_nodes_of_labs(labs: None, hosts: str, nodes: list[str]) -> None:
    found = get_backends([backend.registered(hosts)])
    assert [each.hostname for each in found] == nodes
    assert [each.get_pytest_id() for each in found] == [f"stormpool://{each}" for each in nodes]
    said = found[0].run("echo %s; exit 3", "it's $HOME")
    assert (said.rc, said.stdout) == (3, "it's $HOME\n")


def test_hosts_that_are_not_there_are_misuse(labs: None) -> None:
    assert backend.registered("ssh://root@h1/,local://") == "ssh://root@h1/,local://"
    for hosts in ("stormpool://beef", "stormpool://cafe/client9", "ssh://h1,stormpool://beef/client1"):
        with pytest.raises(Misuse, match="fix:"):
            backend.registered(hosts)
