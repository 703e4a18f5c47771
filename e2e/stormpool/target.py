"""What a fault aims at: a description, resolved to a node, or to several, when the fault is injected."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from stormpool.lab import Role


class Aim(StrEnum):
    """Kinds of description."""

    NAMED = "named"
    LEADER = "leader"
    FOLLOWER = "follower"
    HOLDER = "holder"
    SERVING = "serving"
    CONTROLLER = "controller"
    ONE = "one"
    MINORITY = "minority"
    MAJORITY = "majority"
    ALL = "all"


class Target(msgspec.Struct, frozen=True, omit_defaults=True):
    """One node, or several."""

    aim: Aim
    name: str = ""  # the node's, the volume's, or the plugin's
    role: Role | None = None  # of the nodes that are meant; None: either
    nth: int = 1  # counted from 1

    def __str__(self) -> str:
        said = [self.name, str(self.role or ""), str(self.nth) if self.nth != 1 else ""]
        return f"{self.aim}({', '.join(filter(None, said))})" if any(said) else str(self.aim)


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


def controller(plugin: str = "zfs", nth: int = 1) -> Target:
    """The client that runs the n-th controller instance of a plugin, by client id: 1 is the lowest."""
    return Target(Aim.CONTROLLER, plugin, nth=nth)


def one(role: Role | None = Role.SERVER) -> Target:
    """One node of a role, chosen by the run's seed; among the minority, where there is one."""
    return Target(Aim.ONE, role=role)


def minority(role: Role | None = Role.SERVER) -> Target:
    """As many nodes of a role as are no majority, chosen by the run's seed: 1 of 3, 2 of 5."""
    return Target(Aim.MINORITY, role=role)


def majority(role: Role | None = Role.SERVER) -> Target:
    """The nodes of a role that are not the minority."""
    return Target(Aim.MAJORITY, role=role)


def all(role: Role | None = None) -> Target:
    """Every node of a role, or of both."""
    return Target(Aim.ALL, role=role)
