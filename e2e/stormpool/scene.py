"""Where a fault happens: the lab, and the call that set it off."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import claims_of
from stormpool.errors import MachineError, Misuse
from stormpool.lab import Role
from stormpool.nemesis import OnCall
from stormpool.target import Aim, Target

if TYPE_CHECKING:
    from stormpool.cluster import Cluster
    from stormpool.conductor import Reached
    from stormpool.node import Links, Node
    from stormpool.site import Site
    from stormpool.tap.collector import HeldCall


@dataclass(eq=False)
class Scene:
    """What a fault acts on. Each injection has its own, and is known by it to whatever heals it."""

    site: Site
    held: HeldCall | None = None
    reached: Reached | None = None  # how far the calls of the run have come
    subject: str | None = None  # what was hit, once something was
    hit: list[str] = field(default_factory=list)  # nodes, volumes, plugins that may be broken: see `aim_at`

    def aim_at(self, *names: str) -> None:
        """Note what is hit from now on: healing mends just that, also when injecting fails halfway."""
        self.hit += [name for name in names if name not in self.hit]

    def call(self) -> HeldCall:
        """The call that set the fault off. Raises `Misuse` when none did."""
        if self.held is None:
            raise Misuse(
                "this fault is about a call, and none set it off",
                fix="plan it with nemesis.on(rpc(...), ...)",
            )
        return self.held

    @property
    def cluster(self) -> Cluster:
        """The lab's agents and what they are asked. Raises `Misuse` where there are none."""
        return self.site.cluster

    @property
    def links(self) -> Links:
        """The network between the nodes."""
        return self.site.links

    def wait_for(self, point: OnCall, at_most: float) -> None:
        """Return once a call has come to a point. Raises `MachineError` after so many seconds."""
        if self.reached is None:
            raise Misuse("no call is watched here", fix="plan it with nemesis.on(rpc(...), ...)")
        self.reached.wait(point, at_most)

    def node(self, target: Target) -> str:
        """The name of the one node that is meant, now; it is aimed at from then on.

        Raises `MachineError` when there is none, `Misuse` when the target names several.
        """
        names = self._meant(target)
        if len(names) != 1:
            raise Misuse(
                f"{target} is {len(names)} nodes ({', '.join(names)}), and this fault hits one",
                fix="aim at one: leader, follower, holder, serving, controller, one, or a node by name",
            )
        self.aim_at(*names)
        return names[0]

    def nodes(self, target: Target) -> tuple[str, ...]:
        """The names of the nodes that are meant, now; they are aimed at from then on.

        Raises `MachineError` when there is none.
        """
        names = self._meant(target)
        self.aim_at(*names)
        return names

    def _meant(self, target: Target) -> tuple[str, ...]:
        if target.aim in (Aim.ONE, Aim.MINORITY, Aim.MAJORITY, Aim.ALL):
            return self._some(target)
        return (self._the_one(target),)

    def clients(self) -> list[Node]:
        """The clients that are up."""
        return [node for node in self.site.clients() if node.up]

    def clients_hit(self) -> list[Node]:
        """The clients that were hit and are up."""
        return [node for node in self.clients() if node.spec.name in self.hit]

    def others(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Every node of the lab but these."""
        return tuple(name for name in self.site.nodes if name not in names)

    def _the_one(self, target: Target) -> str:
        find: dict[Aim, Callable[[], str]] = {
            Aim.NAMED: lambda: self._named(target.name),
            Aim.LEADER: self._leader,
            Aim.FOLLOWER: self._follower,
            Aim.HOLDER: lambda: self._holder(target.name),
            Aim.SERVING: lambda: self.call().call.node,
            Aim.CONTROLLER: lambda: self._controller(target.name, target.nth),
        }
        return find[target.aim]()

    def _named(self, name: str) -> str:
        if name not in self.site.nodes:
            raise Misuse(f"no node is named {name!r}", fix="name one of: " + ", ".join(self.site.nodes))
        return name

    def _some(self, target: Target) -> tuple[str, ...]:
        """Some nodes of a role. One shuffle a seed: minority and majority complete each other."""
        names = [spec.name for spec in self.site.lab.nodes() if target.role in (None, spec.role)]
        if target.aim is not Aim.ALL:
            Random(f"{self.site.seed} {target.role}").shuffle(names)
        few = (len(names) - 1) // 2
        chosen = {
            Aim.ONE: names[:1],
            Aim.MINORITY: names[:few],
            Aim.MAJORITY: names[few:],
            Aim.ALL: names,
        }[target.aim]
        if not chosen:
            raise Misuse(f"{target} of {len(names)} nodes is none", fix="run a larger lab")
        return tuple(sorted(chosen))

    def _leader(self) -> str:
        """The server that most servers hold for the leader: one that is cut off may not know better."""
        views = Counter[str]()
        for name in self.cluster.agents.running_servers():
            with contextlib.suppress(Unreachable, ApiError):
                views[str(self.cluster.api(name).get("status/leader", stale="")).partition(":")[0]] += 1
        for address, _ in views.most_common():
            for name, node in self.site.nodes.items():
                if node.address == address:
                    return name
        raise MachineError("no server leads")

    def _follower(self) -> str:
        leader = self._leader()
        followers = [name for name in self.site.lab.names(Role.SERVER) if name != leader]
        if not followers:
            raise MachineError("the only server leads")
        return followers[0]

    def _holder(self, volume: str) -> str:
        claims = claims_of(self.cluster.ask(f"volume/csi/{volume}"))
        if not claims:
            raise MachineError(f"nobody holds volume {volume}")
        return str(self.cluster.ask(f"allocation/{claims[0]}")["NodeName"])

    def _controller(self, plugin: str, nth: int) -> str:
        clients = sorted(self.cluster.ask(f"plugin/csi/{plugin}")["Controllers"] or {})
        if not 0 < nth <= len(clients):
            raise MachineError(f"plugin {plugin} has {len(clients)} controllers, no number {nth}")
        return str(self.cluster.ask(f"node/{clients[nth - 1]}")["Name"])
