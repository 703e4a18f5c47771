"""The relay on a shaped link, where the kernel has no netem: reads packets, lets each go on when it is due.

    python -m stormpool.providers.link.relay NODE_SIDE LAB_SIDE

Runs in the lab's namespaces, between two interfaces that nothing else joins. Says "up" when it listens, then
reads a shape a line, as JSON, from standard input; it ends when that closes, having sent on all that waited.
Packets are read and written with what the kernel knows of them (`PACKET_VNET_HDR`): their checksums are not
filled in yet.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import sys
import time
from typing import Any

from stormpool.providers.link.lane import SECOND, Lane

SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 263, 15, 23  # packet(7), <linux/if_packet.h>
SO_RCVBUFFORCE = 33
ETH_P_ALL = 3
VNET_HDR = 10  # bytes of struct virtio_net_hdr, <linux/virtio_net.h>
LONGEST = 65536 + 64
BUFFER = 8 << 20  # bytes of packets not yet read; less where the user may not
SMALLEST = 512  # bytes of the buffer that a packet takes, at the least
BURST = 64  # packets read before any is sent


def opened(interface: str) -> socket.socket:
    """A socket that gets every packet which comes in at an interface, and sends out there."""
    made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    made.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    made.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
    with contextlib.suppress(PermissionError):
        made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    made.bind((interface, ETH_P_ALL))
    made.setblocking(False)
    return made


class Way:
    """One direction: from one socket to the other."""

    def __init__(self, name: str, source: socket.socket, sink: socket.socket) -> None:
        self._name = name
        self.source = source
        self._sink = sink
        self._lane = Lane({}, name)

    def shape(self, shape: dict[str, float]) -> None:
        """Begin anew with another shape; what waited goes on at once."""
        self.end()
        self._lane = Lane(shape, f"{shape.get('seed', 0)} {self._name}")

    def read(self) -> bool:
        """Take in what has come; whether there may be more."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(BURST):
                packet = self.source.recv(LONGEST)
                self._lane.take(packet, len(packet) - VNET_HDR, time.monotonic_ns())
            return True
        return False

    def write(self) -> None:
        """Let go on what is due."""
        self._send(self._lane.due(time.monotonic_ns()))

    def end(self) -> None:
        """Let all go on that has come, also what nobody has read yet."""
        for _ in range(BUFFER // SMALLEST // BURST):  # not until there is none: others may go on sending
            self._send(self._lane.rest())
            if not self.read():
                break
        self._send(self._lane.rest())

    def wait(self) -> float | None:
        """Seconds until the next packet is due."""
        at = self._lane.next()
        return None if at is None else max(0.0, (at - time.monotonic_ns()) / SECOND)

    def _send(self, packets: list[bytes]) -> None:
        for packet in packets:
            with contextlib.suppress(OSError):  # no room, or the link is gone: a lost packet, as on a wire
                self._sink.send(packet)


def main() -> None:
    """Relay until standard input closes."""
    node, lab = map(opened, sys.argv[1:])
    ways = [Way(f"from {sys.argv[1]}", node, lab), Way(f"to {sys.argv[1]}", lab, node)]
    print("up", flush=True)
    said = b""
    while True:
        waits = [wait for way in ways if (wait := way.wait()) is not None]
        listening: list[Any] = [0, node, lab]
        ready = select.select(listening, [], [], min(waits, default=None))[0]
        for way in ways:
            if way.source in ready:
                way.read()
            way.write()
        if 0 in ready:
            told = os.read(0, 1 << 16)
            if not told:
                break
            *lines, said = (said + told).split(b"\n")
            for line in lines:
                for way in ways:
                    way.shape(json.loads(line))
                print("shaped", flush=True)
    for way in ways:
        way.end()


if __name__ == "__main__":
    main()
