"""The disks that pools are on, where a node's kernel serves ZFS: they can be made to fail, or slow.

Each is a device of device-mapper (dmsetup(8)) over the real one. Another table in its place changes what
becomes of all that is read and written from then on; whoever has it open notices nothing of the exchange.
"""

from __future__ import annotations

from stormpool.errors import MachineError
from stormpool.node import Node

BY_NAME = "/dev/mapper/"
PLAIN = "linear"
FOR_GOOD = "1000000000"  # seconds

# Puts another table in the place of a device's own; what is under way then is done by the new one.
EXCHANGE = """set -e
dmsetup reload "$1" --table "$2"
dmsetup suspend --noflush --nolockfs "$1"
dmsetup resume "$1\""""


def of(node: Node, *pools: str) -> list[str]:
    """The names of the disks that some pools are on, or all."""
    said = node.run(["zpool", "list", "-H", "-P", "-v", "-o", "name", *pools]).stdout.split()
    return [word.removeprefix(BY_NAME) for word in said if word.startswith(BY_NAME)]


def fail_writes(node: Node, disk: str) -> None:
    """Every write fails, every read goes on (dm-flakey)."""
    _exchange(node, disk, "flakey", "0", FOR_GOOD, "1", "error_writes")


def slow(node: Node, disk: str, seconds: float) -> None:
    """Every read and every write takes so much longer (dm-delay)."""
    _exchange(node, disk, "delay", str(round(seconds * 1000)))


def mend(node: Node, disk: str) -> None:
    """It is as it was; nothing happens to one that is."""
    _exchange(node, disk, PLAIN)


def _exchange(node: Node, disk: str, target: str, *arguments: str) -> None:
    """A table is: first sector, sectors, target, the real device, its first sector, arguments.

    Raises `MachineError` for a disk that is broken already: mending one fault would mend the other.
    """
    first, sectors, now, *over = node.run(["dmsetup", "table", disk]).stdout.split()
    if len(over) < 2 or PLAIN not in (now, target):
        raise MachineError(f"disk {disk} of {node.spec.name} is {now} already: one fault of a disk at a time")
    table = " ".join([first, sectors, target, *over[:2], *arguments])
    node.run(["sh", "-c", EXCHANGE, "sh", disk, table])
