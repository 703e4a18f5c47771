"""The disks that pools are on, where a node's kernel serves ZFS: they can be made to fail, or slow.

Each is a device of device-mapper (dmsetup(8)) over the real one. Another table in its place changes what
becomes of all that is read and written from then on; whoever has it open notices nothing of the exchange.
"""

from __future__ import annotations

from stormpool.errors import MachineError
from stormpool.node import Node

BY_NAME = "/dev/mapper/"
PLAIN, FLAKEY, DELAY = "linear", "flakey", "delay"
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


def slowed(node: Node) -> list[str]:
    """The names of the disks that are slow, whatever is on them now."""
    said = node.run(["dmsetup", "ls", "--target", DELAY]).stdout  # NAME (MAJOR:MINOR), or that there are none
    return [line.split()[0] for line in said.splitlines() if "(" in line]


def fail_writes(node: Node, disk: str) -> None:
    """Every write fails, every read goes on (dm-flakey)."""
    _break(node, disk, FLAKEY, "0", FOR_GOOD, "1", "error_writes")


def slow(node: Node, disk: str, seconds: float) -> None:
    """Every read and every write takes so much longer (dm-delay)."""
    _break(node, disk, DELAY, str(round(seconds * 1000)))


def mend(node: Node, disk: str, fault: str) -> None:
    """It is as it was; nothing happens to one that has not that fault, `FLAKEY` or `DELAY`."""
    table = _table(node, disk)
    if table[2] == fault:
        _exchange(node, disk, table, PLAIN)


def _break(node: Node, disk: str, fault: str, *arguments: str) -> None:
    """Raises `MachineError` for a disk that is broken already: one fault of a disk at a time."""
    table = _table(node, disk)
    if table[2] != PLAIN:
        now = f"disk {disk} of {node.spec.name} is {table[2]} already"
        raise MachineError(f"{now}: one fault of a disk at a time")
    _exchange(node, disk, table, fault, *arguments)


def _exchange(node: Node, disk: str, table: list[str], target: str, *arguments: str) -> None:
    """Have another target over the same sectors of the same real device."""
    first, sectors, _, device, at, *_ = table
    new = " ".join([first, sectors, target, device, at, *arguments])
    node.run(["sh", "-c", EXCHANGE, "sh", disk, new])


def _table(node: Node, disk: str) -> list[str]:
    """First sector, sectors, target, the real device, its first sector, arguments."""
    return node.run(["dmsetup", "table", disk]).stdout.split()
