"""After the last fault is healed: waits until nothing of the workloads is left, in the servers' books and on
the nodes, and writes down what both then show. What has not settled is for the checkers to name."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from msgspec import structs

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import allocations, claims_of, consumers, exhausted, of_plugin
from stormpool.checkers.dataset_lives_as_long import left_datasets, told_of
from stormpool.checkers.nothing_left_behind import left_on
from stormpool.checkers.one_pool_a_volume import nodes_with
from stormpool.checkers.published_is_unpublished import left_published
from stormpool.errors import TimedOut
from stormpool.events import Books, Design, Observed
from stormpool.history import History
from stormpool.wait import wait_until

if TYPE_CHECKING:
    from stormpool.cluster import Cluster
    from stormpool.site import Site

LOOK_EVERY = 0.2  # seconds between two looks at a node on which something is left


def settle(cluster: Cluster, volumes: Iterable[str], within: float) -> Books:
    """Wait until no consumer lives and no claim is left, and write down what the servers then say.

    `within`: until then, on the monotonic clock.
    """
    began = cluster.recorder.now()
    with contextlib.suppress(ApiError, Unreachable):
        for stub in cluster.api().get("jobs"):
            if not of_plugin(stub["ID"]):
                cluster.api().delete(f"job/{stub['ID']}")
    while True:
        settled = _free(cluster, volumes, within)
        took = (cluster.recorder.now() - began) / 1e9 if settled else -1.0
        books = _books(cluster, volumes, took)
        # A client that is back claims anew what it had: that is waited for as well, for as long.
        if not settled or not any(books.claims.values()) or not _left(within):
            cluster.recorder.write(books)
            return books


def _free(cluster: Cluster, volumes: Iterable[str], within: float) -> bool:
    """Wait until no claim is left and no consumer lives; whether they came to that."""
    api = cluster.api()
    with contextlib.suppress(TimedOut, ApiError, Unreachable):
        for name in volumes:
            api.until(f"volume/csi/{name}", lambda seen: not claims_of(seen), timeout=_left(within))
        api.until("allocations", lambda seen: not consumers(seen), timeout=_left(within))
        return True
    return False


def _books(cluster: Cluster, volumes: Iterable[str], took: float) -> Books:
    api = cluster.api()
    claims = {name: claims_of(api.get(f"volume/csi/{name}")) for name in volumes}
    allocs = allocations(api)
    return Books(cluster.recorder.now(), claims, allocs, exhausted(api.get("evaluations")), took)


def wait_unpublished(cluster: Cluster, within: float) -> None:
    """Wait until plugins have undone what they did; servers may free a claim before that."""

    def all_undone() -> bool:
        return not left_published(cluster.so_far()[0])

    with contextlib.suppress(TimedOut):
        wait_until("what was published is unpublished", all_undone, timeout=_left(within), every=LOOK_EVERY)


def observe(cluster: Site, books: Books, volumes: Collection[str], within: float) -> None:
    """Look at each client until nothing is left on it that should not be, and write down the last looks."""
    history = cluster.so_far()[0] if cluster.lab.external_plugins else History([])
    told = told_of(history)
    collected = tuple(each.datasets for each in history.of(Design) if each.collects and not each.volumes)
    in_use = any(alloc.live and not of_plugin(alloc.job) for alloc in books.allocs)

    def left(look: Observed) -> list[str]:
        silent = ["ZFS says nothing"] if look.silent else []
        # Which dataset is whose is not known of every design.
        kept = [each for each in look.datasets if each.startswith(collected) and not in_use]
        return [*silent, *left_on(look, books, volumes), *left_datasets(look, books, told), *kept]

    names = [node.spec.name for node in cluster.clients()]
    looks = {name: _last_look(cluster, name, left, within) for name in names}

    def doubled() -> set[str]:
        """The nodes with a volume that another has too, as they are now: one that was away tidies up."""
        having = [nodes_with(volume, looks.values()) for volume in volumes]
        return {name for nodes in having if len(nodes) > 1 for name in nodes}

    def look_again() -> set[str]:
        looks.update({name: cluster.look(name) for name in doubled()})
        return doubled()

    with contextlib.suppress(TimedOut):
        what = "no volume is in the pools of two nodes"
        wait_until(what, look_again, lambda found: not found, timeout=_left(within), every=LOOK_EVERY)
    for look in looks.values():
        cluster.recorder.write(structs.replace(look, settled=True))


def _last_look(cluster: Site, name: str, left: Callable[[Observed], list[str]], within: float) -> Observed:
    """Look at a node until nothing is left there, or there is no more time."""
    looks: list[Observed] = []

    def look() -> list[str]:
        looks.append(cluster.look(name))
        return left(looks[-1])

    what = f"nothing is left on {name}"
    with contextlib.suppress(TimedOut):
        wait_until(what, look, lambda found: not found, timeout=_left(within), every=LOOK_EVERY)
    return looks[-1]


def _left(within: float) -> float:
    """Seconds until then, on the monotonic clock."""
    return max(0.0, within - time.monotonic())
