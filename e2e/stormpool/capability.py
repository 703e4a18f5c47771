"""What can be done to the nodes of a lab: providers say what they offer, labs and faults what they need."""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    """Something that not every provider can do to a node, or not on every host."""

    FIREWALL = "drop packets between nodes"
    LINK = "delay, lose, copy, reorder and slow down packets between nodes"
    CRASH = "cut a node's power and boot it again"
    PANIC = "have a node's kernel panic"
    CLOCK = "set one node's wall clock"
    COPY = "copy all nodes at one moment, and set them back"
    AGENTS = "ask the agents of nodes, or end them"  # a lab without servers has none
    OPENZFS = "keep pools in OpenZFS, as a kernel has it"  # zvols, encryption, multihost: zfs-fuse has none
