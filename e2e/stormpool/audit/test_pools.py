"""Pools are well: ONLINE, without errors, with room to write.

By `zpool status -j` where ZFS is 2.3 or later; before, errors are told by `zpool status -x`, as text.
"""

from stormpool.audit import pools
from stormpool.audit.node import Node


def test_every_pool_is_online(node: Node) -> None:
    """Every imported pool and each of its devices is ONLINE: not degraded, faulted or suspended.

    zpoolconcepts(7), *Device Failure and Recovery*.
    """
    devices = pools.ill_devices(node.status) if node.status else ()
    mend = (
        "see `zpool status -v`; bring the device back with `zpool online`, or replace it with `zpool replace`"
    )
    node.clear([*pools.ill(node.pools), *devices], mend=mend)


def test_no_pool_has_errors(node: Node) -> None:
    """No device has had read, write or checksum errors, and no data is damaged.

    zpool-status(8), whose counts are since the last `zpool clear`.
    """
    status = node.status
    found = pools.troubles(node.troubles, node.pools) if status is None else pools.errors(status)
    node.clear(found, mend="`zpool status -v` names what is damaged; `zpool scrub`, then `zpool clear`")


def test_no_pool_is_full(node: Node) -> None:
    """No pool is past the capacity at which ZFS slows down.

    OpenZFS documentation, Workload Tuning, *Free Space*.
    """
    node.clear(pools.full(node.pools), mend="destroy what nobody needs, or `zpool add` devices")
