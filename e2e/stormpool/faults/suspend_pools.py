"""Pools that are suspended: their disk refuses to be written to."""

from __future__ import annotations

from stormpool import datasets, pools
from stormpool.faults.fault import Fault
from stormpool.scene import Scene
from stormpool.wait import wait_until

MARK = "stormpool:suspended"
WITHIN = 20.0  # seconds from the first write that fails until the pool is suspended; under 1 as seen


class SuspendPools(Fault, frozen=True):
    """The disks of the pool that a volume is in refuse every write; reading goes on.

    The pool is suspended at once (`failmode=wait`): what writes or waits for a write hangs, and is not lost.
    Healed by disks that take writes again and `zpool clear`. Where a daemon serves ZFS it may write to no
    file at all (RLIMIT_FSIZE): any other pool of that node is suspended too when it is next written to.
    """

    volume: str

    def inject(self, scene: Scene) -> str:
        """Fail the writes, and write."""
        dataset = datasets.aimed(scene, self.volume)
        node, pool = dataset.node, dataset.pool.name
        node.zfs.refuse_writes(pool)
        # A change of a property is written at once, and comes back when the pool does.
        node.run(["timeout", "--signal=KILL", "1", "zfs", "set", f"{MARK}=yes", pool], check=False)
        wait_until(
            f"pool {pool} of {node.spec.name} is suspended",
            lambda: pools.suspended(node, pool),
            timeout=WITHIN,
        )
        return f"{pool} of {node.spec.name}"

    def heal(self, scene: Scene) -> None:
        """Let writes succeed, and have those that wait done."""
        for node in scene.clients_hit():
            imported = pools.imported(node)
            own = self.volume if self.volume in imported else pools.POOL
            for pool in set(imported) & {own} if node.zfs.in_kernel else imported:
                node.zfs.take_writes(pool)
                node.run(["zpool", "clear", pool])
                datasets.Dataset(node, pool).forget(MARK)
