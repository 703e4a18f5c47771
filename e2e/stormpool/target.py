"""What a fault aims at: a description, resolved to a node when the fault is injected."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Aim(StrEnum):
    """Kinds of description."""

    NAMED = "named"
    LEADER = "leader"
    FOLLOWER = "follower"
    HOLDER = "holder"
    SERVING = "serving"


class Target(msgspec.Struct, frozen=True, omit_defaults=True):
    """One node."""

    aim: Aim
    name: str = ""  # the node's, or the volume's

    def __str__(self) -> str:
        return f"{self.aim}({self.name})" if self.name else str(self.aim)


def node(name: str) -> Target:
    """The node of that name."""
    return Target(Aim.NAMED, name)


def leader() -> Target:
    """The server that leads."""
    return Target(Aim.LEADER)


def follower() -> Target:
    """The first server that does not lead."""
    return Target(Aim.FOLLOWER)


def holder(volume: str) -> Target:
    """The client on which an allocation holds a claim of the volume."""
    return Target(Aim.HOLDER, volume)


def serving() -> Target:
    """The client whose plugin got the call that set the fault off."""
    return Target(Aim.SERVING)
