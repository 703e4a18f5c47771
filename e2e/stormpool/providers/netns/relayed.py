"""A node's link through a relay: a veth pair more, and one process of ours between the two."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec

from stormpool.links import Shape
from stormpool.providers.netns.enter import BRIDGE, USER
from stormpool.providers.pipes import close, expect, say

if TYPE_CHECKING:
    from stormpool.providers.netns.nodes import NamespaceNodes

ENDED_WITHIN = 10.0  # seconds that a relay may take to send on what waits; 0.02 on an idle machine


class RelayedLink:
    """One node's link while it is shaped by a relay. The node keeps its card, with its addresses."""

    def __init__(self, name: str, nest: NamespaceNodes) -> None:
        self._name = name
        self._nest = nest
        self._ours, self._bridged = f"{name}-r", f"{name}-b"
        nest.ip(
            f"link add {self._ours} type veth peer name {self._bridged}",
            f"link set {self._ours} up",
            # No packet may be larger than on a wire: what is lost or counted is one, not a batch of them.
            f"link set {self._bridged} gso_max_segs 1",
            f"link set {self._bridged} up",
        )
        self._relay = self._start()
        nest.ip(f"link set {name} nomaster", f"link set {self._bridged} master {BRIDGE}")

    def shape(self, shape: Shape) -> None:
        """Change what becomes of its packets."""
        say(self._relay, msgspec.json.encode(shape).decode() + "\n")
        expect(self._relay, "shaped", f"the relay of {self._name}")

    def end(self) -> None:
        """Send on what waits, and join the node to the others as it was."""
        close(self._relay)
        self._relay.wait(ENDED_WITHIN)
        self._nest.ip(f"link del {self._ours}", f"link set {self._name} master {BRIDGE}")

    def cut(self) -> None:
        """Let nothing pass any more, not even what waits."""
        self._nest.ip(f"link del {self._ours}")
        close(self._relay)
        self._relay.wait(ENDED_WITHIN)

    def _start(self) -> subprocess.Popen[bytes]:
        enter = ["nsenter", f"--target={self._nest.init}", *USER, "--net", "--pid", "--"]
        argv = [sys.executable, "-m", "stormpool.providers.link.relay", self._name, self._ours]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        relay = self._nest.spawn([*enter, *argv], **pipes)
        expect(relay, "up", f"the relay of {self._name}")
        return relay
