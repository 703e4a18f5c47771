"""Encrypted volumes that nobody uses, and whether their keys are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stormpool.datasets import Dataset
from stormpool.events import Key
from stormpool.pools import POOL
from stormpool.workloads.workload import Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

LOADED = {"available": True, "unavailable": False}  # keystatus (zfsprops(7)); of what has no key it is "-"


class LookAtKeys(Workload, frozen=True):
    """On every client: tell whether the keys of these volumes are loaded; of one without a key, nothing."""

    volumes: tuple[str, ...]

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it, where they are datasets of the node's pool."""
        for node in cluster.clients():
            for volume in self.volumes:
                loaded = LOADED.get(Dataset(node, f"{POOL}/{volume}").find("keystatus"))
                if loaded is not None:
                    cluster.recorder.write(Key(cluster.recorder.now(), volume, node.spec.name, loaded))


def look_at_keys(volumes: Sequence[str]) -> LookAtKeys:
    """Tell whether the keys of these volumes are loaded anywhere. To be run once nobody uses them."""
    return LookAtKeys(tuple(volumes))
