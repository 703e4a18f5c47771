"""The jobs whose tasks use volumes, and what their tasks print."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from stormpool.workloads.jobs import LASTING, LOGS, ONCE, SECOND, one_group, shell

CONSUMER_TASK = "writer"

REFUSED = re.compile(r"^could not write to (\S+) in life (\S+)$", re.MULTILINE)
WROTE = re.compile(r"^wrote (\d+) to (\S+) in life (\S+)$", re.MULTILINE)
# Writes a line at a time to its volume, made durable before it is told, until it is told to stop. Synced by
# the process that wrote: zfs-fuse 0.7.0 does nothing for a descriptor that only reads, as `sync FILE` has.
# A write that fails is tried again. A task that is started again in its allocation counts from 1 again: its
# lives are told apart.
CONSUMER = """
trap 'exit 0' INT TERM
life=$(mktemp -u XXXXXXXX)
n=0
while :; do
  echo "$NOMAD_ALLOC_ID/$life $((n + 1))" |
    dd of=/vol/writes oflag=append conv=notrunc,fsync 2>/dev/null &&
    n=$((n + 1)) && echo "wrote $n to $VOLUME in life $life" ||
    echo "could not write to $VOLUME in life $life"
  usleep 100000
done"""

# The same on a device, a record a block of it: what earlier lives wrote is passed over.
DEVICE_CONSUMER = """
trap 'exit 0' INT TERM
life=$(mktemp -u XXXXXXXX)
at=$(dd if=/vol bs=64k count=64 2>/dev/null | tr -d '\\0' | wc -l)
n=0
while :; do
  echo "$NOMAD_ALLOC_ID/$life $((n + 1))" |
    dd of=/vol bs=512 seek=$((at + n)) conv=notrunc,sync,fsync 2>/dev/null &&
    n=$((n + 1)) && echo "wrote $n to $VOLUME in life $life" ||
    echo "could not write to $VOLUME in life $life"
  usleep 100000
done"""


class Script(msgspec.Struct, frozen=True):
    """What a task does with its volume, by what that is."""

    files: str
    device: str


WRITER = Script(CONSUMER, DEVICE_CONSUMER)
# Prints what was written, and that this is all of it. Of a device, of 4 MiB: writes of a quarter of an hour.
READER = Script(
    "cat /vol/writes; echo end",
    "dd if=/vol bs=64k count=64 2>/dev/null | tr -d '\\0'; echo end",
)


def writes_in(lines: Iterable[str]) -> dict[str, int]:
    """How many writes of each life of an allocation are there, from its first on, without a gap."""
    found: dict[str, int] = {}
    for line in lines:
        writer, _, number = line.partition(" ")
        if number == str(found.get(writer, 0) + 1):
            found[writer] = int(number)
    return found


def told_in(output: str) -> dict[tuple[str, str], int]:
    """How many writes a task told of, by its volume and its life."""
    told: dict[tuple[str, str], int] = {}
    for number, volume, life in WROTE.findall(output):
        told[volume, life] = max(int(number), told.get((volume, life), 0))
    return told


def refused_in(output: str) -> Counter[tuple[str, str]]:
    """How often a task told that it could not write, by its volume and its life."""
    return Counter(REFUSED.findall(output))


class How(msgspec.Struct, frozen=True):
    """What a consumer does, and what becomes of it."""

    script: Script = WRITER
    kind: str = "service"  # or batch
    access: str = "single-node-writer"
    lasting: bool = False  # restarted and placed anew when it fails or its node is lost; else it is not
    block: bool = False  # its volume is a device at /vol; else a directory


WRITES = How()


def attachment(block: bool) -> str:
    """How a volume is handed to tasks, in Nomad's words."""
    return "block-device" if block else "file-system"


def consumer(job: str, volume: str, driver: str, node: str = "", how: How = WRITES) -> dict[str, Any]:
    """The job of a task that writes to a volume, in the shape of Nomad's JSON API."""
    task = {
        "Name": CONSUMER_TASK,
        "Driver": driver,
        "Config": shell(how.script.device if how.block else how.script.files),
        "Env": {"VOLUME": volume},
        "VolumeMounts": [{"Volume": "data", "Destination": "/vol"}],
        "Resources": {"CPU": 50, "MemoryMB": 32},
        "KillTimeout": 2 * SECOND,
        "LogConfig": LOGS,
    }
    group = {
        "Name": "writer",
        "Count": 1,
        "Tasks": [task],
        "Volumes": {
            "data": {
                "Name": "data",
                "Type": "csi",
                "Source": volume,
                "AccessMode": how.access,
                "AttachmentMode": attachment(how.block),
            }
        },
        **(LASTING if how.lasting else ONCE),
        "EphemeralDisk": {"SizeMB": 50},
    }
    return one_group(job, group, kind=how.kind, node=node)
