"""Connections on the side (go-plugin, grpc_broker.proto): Nomad's plugins open none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc

from stormpool.goplugin.protos import broker_rpc


class BrokerService(broker_rpc.GRPCBrokerServicer):  # type: ignore[misc,name-defined]
    """Hears of the agent's until it goes away."""

    def StartStream(self, offered: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        """Offer none."""
        for _ in offered:
            pass
        yield from ()
