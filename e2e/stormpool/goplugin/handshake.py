"""How an agent and a plugin it has started find each other (go-plugin, docs; nomad, plugins/base).

The agent says by a variable that it is one. The plugin prints one line: the versions of go-plugin's protocol
and of the agent's, where it listens, and what it speaks there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

COOKIE = "NOMAD_PLUGIN_MAGIC_COOKIE"
COOKIE_VALUE = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255"
CORE_PROTOCOL, NOMAD_PROTOCOL = 1, 2  # go-plugin, server.go; nomad, plugins/base/plugin.go
# Where a plugin puts its socket: a variable of go-plugin 1.5 and later, else where temporary files go.
SOCKET_DIRECTORY = "PLUGIN_UNIX_SOCKET_DIR"
API = "v0.1.0"  # of devices and drivers (nomad, plugins/{device,drivers}/versions.go)


Address = str | tuple[str, int]  # a socket's path, or a host and a port


class NoHandshake(Exception):
    """A line is none that a plugin begins with."""


@dataclass(frozen=True)
class Handshake:
    """What a plugin says of itself first."""

    address: str
    network: str = "unix"
    core: int = CORE_PROTOCOL
    app: int = NOMAD_PROTOCOL
    speaks: str = "grpc"
    more: tuple[str, ...] = ()  # a certificate, whether it multiplexes: later versions' additions

    @classmethod
    def parse(cls, line: str) -> Handshake:
        """Read a line. Raises `NoHandshake` when it is none, or names a protocol or a place that none has."""
        core, *fields = line.strip().split("|")
        if len(fields) < 4 or not core.isdigit() or not fields[0].isdigit():
            raise NoHandshake(f"{line.strip()!r} is no line VERSION|VERSION|NETWORK|ADDRESS|PROTOCOL")
        app, network, address, speaks, *more = fields
        if speaks != "grpc":
            raise NoHandshake(f"the plugin speaks {speaks!r}, and Nomad's speak grpc")
        said = cls(address, network, int(core), int(app), speaks, tuple(more))
        if network not in ("unix", "tcp") or (network == "tcp" and not _port(address).isdecimal()):
            raise NoHandshake(
                f"the plugin listens at {address!r} of {network!r}: neither a socket nor a port"
            )
        return said

    @property
    def where(self) -> Address:
        """Where the plugin listens."""
        if self.network == "unix":
            return self.address
        host = self.address.removesuffix(":" + _port(self.address))
        return host.strip("[]"), int(_port(self.address))

    @property
    def line(self) -> str:
        """The line as a plugin prints it."""
        said = (self.core, self.app, self.network, self.address, self.speaks, *self.more)
        return "|".join(map(str, said))

    def at(self, socket: str) -> Handshake:
        """The same of a plugin that listens at a unix socket."""
        return replace(self, network="unix", address=socket)


def _port(address: str) -> str:
    return address.rpartition(":")[2]
