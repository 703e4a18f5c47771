"""What a lab is to be, frozen and written down: servers, clients and the plugins they run.

A `Lab` is data. It names no namespace, container or machine: providers read it and bring nodes up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import structs

from stormpool.capability import Capability
from stormpool.errors import Misuse

API_DOOR = "/run/stormpool/api.sock"  # where plugins find a way to their agent's API that can be cut
MAX_NODES = 99  # of each role: what the node's last address byte leaves room for


class Role(StrEnum):
    """What a node's agent does."""

    SERVER = "server"
    CLIENT = "client"


class NodeSpec(msgspec.Struct, frozen=True):
    """One node to bring up."""

    name: str
    role: Role
    index: int  # from 1, within its role


class CsiPlugin(msgspec.Struct, frozen=True, kw_only=True, tag="csi"):
    """A CSI plugin as the lab runs it: an argv that serves CSI on the socket named by `CSI_ENDPOINT`.

    In `argv` and `env`, `{endpoint}` stands for the socket's URL, `{node}` for the node's name, `{role}`
    for monolith, controller or node, and `{cloud}` for a directory all nodes share, or on machines a URL.
    """

    id: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = {}
    controllers: int | None = None  # None: a monolith on every client; n: n controllers, a node part each
    parameters: Mapping[str, str] = {}  # handed to CreateVolume
    block: bool = False  # whether its volumes are block devices to tasks; else they are directories
    health_timeout: float = 30.0  # seconds until an agent gives up on a plugin that is not ready

    def __post_init__(self) -> None:
        """Refuse what no agent could run."""
        if not self.argv:
            raise Misuse(f"plugin {self.id!r} has no command", fix="give its argv")
        if self.controllers is not None and self.controllers < 1:
            raise Misuse(
                f"plugin {self.id!r} asks for {self.controllers} controllers",
                fix="ask for one or more, or leave it out to run a monolith on every client",
            )


class PluginKind(StrEnum):
    """What a plugin that agents start themselves is for."""

    DEVICE = "device"
    DRIVER = "driver"


class ExternalPlugin(msgspec.Struct, frozen=True, kw_only=True, tag="external"):
    """A device plugin or a task driver as the lab runs it: a program that every client's agent starts.

    In `argv` and `env`, `{node}` stands for the node's name, `{cloud}` for a directory all nodes share,
    or on machines a URL.
    """

    id: str  # its own name: of its file in the agent's plugin_dir, and of the driver
    kind: PluginKind
    argv: tuple[str, ...]
    env: Mapping[str, str] = {}
    config: Mapping[str, Any] = {}  # its `config` block in the agent's configuration

    def __post_init__(self) -> None:
        """Refuse what no agent could run."""
        if not self.argv:
            raise Misuse(f"plugin {self.id!r} has no command", fix="give its argv")
        if not self.id or "/" in self.id:
            raise Misuse(f"{self.id!r} is no name of a plugin", fix="name it as it names itself")


Plugin = CsiPlugin | ExternalPlugin


class Lab(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of a lab and what runs on them."""

    servers: int = 1
    clients: int = 1
    plugins: Sequence[Plugin] = ()
    pool_mib: int = 128  # size of each client's own pool
    data_dir: str = "/nomad"  # the agent's, at this path on every node
    # Seconds that servers wait for a client's heartbeat beyond its time, which is 2 s and more. Short, for
    # stories in which a client is lost; longer where an agent must be back before it is given up.
    heartbeat_grace: float = 3.0
    needs: frozenset[Capability] = frozenset()  # what its provider must offer

    def __post_init__(self) -> None:
        """Refuse what cannot be brought up, with the fix."""
        for role, asked in (("servers", self.servers), ("clients", self.clients)):
            if not 0 <= asked <= MAX_NODES:
                raise Misuse(f"a lab of {asked} {role}", fix=f"ask for 0 to {MAX_NODES} of them")
        if self.servers == 0 and self.csi_plugins:
            raise Misuse(
                "a lab without a server, and so without agents, has nobody to run its CSI plugins",
                fix="ask for 1, or 3 to see leaders change; or for plugins that agents start themselves",
            )
        if self.pool_mib < 64:
            raise Misuse(f"pools of {self.pool_mib} MiB", fix="ZFS takes no device below 64 MiB")
        for plugin in self.csi_plugins:
            if (plugin.controllers or 0) > self.clients:
                raise Misuse(
                    f"plugin {plugin.id!r} asks for {plugin.controllers} controllers "
                    f"on {self.clients} clients",
                    fix="ask for as many clients; two controllers of one plugin never share a node",
                )
        longest = f"{self.data_dir}/client/csi/plugins/{'0' * 36}/plugin.sock"
        if len(longest) > 107:
            raise Misuse(
                f"data_dir {self.data_dir!r} makes a plugin's socket path {len(longest)} bytes long, "
                "and a unix socket's path ends at 107 (unix(7))",
                fix=f"shorten data_dir by {len(longest) - 107} bytes",
            )

    def at_most(self, servers: int, clients: int) -> Lab:
        """The same with no more nodes than these, for where no more can be had."""
        fewer = min(self.clients, clients)
        plugins = [
            structs.replace(each, controllers=min(each.controllers, fewer))
            if isinstance(each, CsiPlugin) and each.controllers
            else each
            for each in self.plugins
        ]
        return structs.replace(self, servers=min(self.servers, servers), clients=fewer, plugins=plugins)

    @property
    def csi_plugins(self) -> tuple[CsiPlugin, ...]:
        """The plugins that jobs run, for volumes."""
        return tuple(each for each in self.plugins if isinstance(each, CsiPlugin))

    @property
    def external_plugins(self) -> tuple[ExternalPlugin, ...]:
        """The plugins that agents start themselves, for devices and for tasks."""
        return tuple(each for each in self.plugins if isinstance(each, ExternalPlugin))

    @property
    def has_api_door(self) -> bool:
        """Whether a plugin goes to its agent's API by the way that can be cut."""
        return any(API_DOOR in str(value) for each in self.external_plugins for value in each.config.values())

    def names(self, role: Role) -> tuple[str, ...]:
        """The names of the nodes of a role."""
        return tuple(spec.name for spec in self.nodes() if spec.role is role)

    def nodes(self) -> tuple[NodeSpec, ...]:
        """Every node to bring up, servers first."""
        counts = ((Role.SERVER, self.servers), (Role.CLIENT, self.clients))
        return tuple(
            NodeSpec(f"{role.value}{index}", role, index)
            for role, count in counts
            for index in range(1, count + 1)
        )


def lab_of(described: Mapping[str, Any], test: str) -> Lab | None:
    """The lab that a scenario's module describes for one of its tests: by `LABS`, else as `LAB`."""
    lab = described.get("LABS", {}).get(test, described.get("LAB"))
    return lab if isinstance(lab, Lab) else None
