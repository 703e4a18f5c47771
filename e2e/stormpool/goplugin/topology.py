"""What processors a machine has, as agents from Nomad 1.7 on tell plugins (plugins/base/proto/base.proto).

The executor of such versions dereferences it unseen (drivers/shared/executor/utils.go CreateExecutor). The
messages are those of 1.6.1, which have no field for it: it is put in as a later version's field, which an
earlier one skips.
"""

from __future__ import annotations

import os
from typing import Any

MHZ = 1000  # of each processor: a guess, as agents make it where they cannot see (numalib/detect_noimpl.go)
TOPOLOGY = 3  # the field of a NomadDriverConfig
NODE_IDS, DISTANCES, CORES = 1, 2, 3  # the fields of a ClientTopology
DIMENSION, VALUES = 1, 2  # of its distances
CORE_ID, GUESS_SPEED = 3, 8  # of a core
NEAR = 10  # the distance of memory that is a processor's own


def add_to(driver: Any, cores: int | None = None) -> None:
    """Put one NUMA node into a NomadDriverConfig: with so many processors, this host's if none is said."""
    every = b"".join(
        _bytes(CORES, _number(CORE_ID, id) + _number(GUESS_SPEED, MHZ))
        for id in range(cores or os.cpu_count() or 1)
    )
    distances = _bytes(DISTANCES, _number(DIMENSION, 1) + _bytes(VALUES, _varint(NEAR)))
    driver.MergeFromString(_bytes(TOPOLOGY, _bytes(NODE_IDS, _varint(0)) + distances + every))


def _number(field: int, value: int) -> bytes:
    """A field that is a number, on the wire: 0 is left out."""
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field: int, value: bytes) -> bytes:
    """A field that is a message or a packed list, on the wire."""
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """A number in groups of seven bits, the lowest first (protobuf, encoding)."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])
