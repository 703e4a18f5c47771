"""What is left on a node: any mount of any plugin, judged by what the servers had said when it was looked."""

import pytest
from msgspec import structs

from stormpool.checkers.nothing_left_behind import nothing_left_behind
from stormpool.events import Alloc, Books, Event, Mount, Observed, Process
from stormpool.history import History
from stormpool.verdict import Outcome

CSI = "/nomad/client/csi/monolith/hostpath"
USAGE = "rw-file-system-single-node-writer"
OVER, LIVE = "0" * 36, "1" * 36


def books(t: int, *allocs: Alloc) -> Books:
    return Books(t, {}, list(allocs), settled_in=1.0)


def shows(t: int, *targets: str) -> Observed:
    return Observed(t, "client1", settled=True, mounts=[Mount("tmpfs", target, True) for target in targets])


def judge(*events: Event) -> tuple[Outcome, int]:
    verdict = nothing_left_behind(History(events))
    return verdict.outcome, verdict.broken


@pytest.mark.parametrize(
    "target",
    [
        f"{CSI}/staging/data/{USAGE}",
        f"{CSI}/staging/default/data/{USAGE}",
        f"{CSI}/per-alloc/{OVER}/data/{USAGE}",
    ],
)
def test_a_mount_is_left_whatever_its_file_system(target: str) -> None:
    assert judge(books(1), shows(2, target)) == (Outcome.INVALID, 1)


def test_a_plugin_may_keep_its_volumes_mounted_where_it_likes() -> None:
    assert judge(books(1), shows(2, "/var/lib/hostpath/data", f"{CSI}/volumes/data")) == (Outcome.VALID, 0)


def test_what_is_used_is_not_left() -> None:
    user = Alloc(LIVE, "consumer", "client1", "run", "running", ["data"])
    used = f"{CSI}/staging/default/data/{USAGE}", f"{CSI}/per-alloc/{LIVE}/data/{USAGE}"
    assert judge(books(1, user), shows(2, *used)) == (Outcome.VALID, 0)
    left = f"{CSI}/per-alloc/{OVER}/data/{USAGE}"  # of an allocation that had the same volume
    assert judge(books(1, user), shows(2, *used, left)) == (Outcome.INVALID, 1)


def test_a_look_is_judged_by_what_the_servers_had_said_then() -> None:
    """A plugin's allocation that is replaced in the second act was none that was over in the first."""
    old = Alloc(OVER, "plugin-hostpath", "client1", "run", "running")
    new = Alloc(LIVE, "plugin-hostpath", "client1", "run", "running")
    runs = [Process(7, 1, "plugin", alloc=OVER)]
    look = Observed(2, "client1", settled=True, processes=runs)
    assert judge(books(1, old), look, books(3, new)) == (Outcome.VALID, 0)
    assert judge(books(1, new), look, books(3, old)) == (Outcome.INVALID, 1)
    assert judge(look, books(3, new))[0] is Outcome.UNKNOWN


def test_where_zfs_says_nothing_pools_are_unknown_and_mounts_are_judged() -> None:
    silent = structs.replace(shows(3), node="client2", silent=True)
    verdict = nothing_left_behind(History([books(1), shows(2), silent]))
    assert (verdict.outcome, verdict.judged) == (Outcome.UNKNOWN, 2)
    assert verdict.why.startswith("ZFS said nothing on client2 at 0.000 s; else it held")
    left = structs.replace(silent, mounts=[Mount("tmpfs", f"{CSI}/staging/data/{USAGE}", True)])
    assert judge(books(1), shows(2), left) == (Outcome.INVALID, 1)
