"""The API of whichever server answers, as a client with several addresses has it: one may be down, or not yet
led."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import httpcore

from stormpool.agents.api import Api, ApiError, Unreachable
from stormpool.errors import TimedOut
from stormpool.wait import wait_until

PATIENCE = 20.0  # seconds until some server must have answered; an election takes 1 to 3
# What a server says that cannot reach a leader: another one may, or this one in a while. All that is asked
# of servers here can be asked twice (nomad/structs/errors.go, helper/pool, hashicorp/raft's errors).
NOT_LED = re.compile("No cluster leader|failed to get conn|leadership lost|not the leader|rpc error: EOF")


class AnyServer(Api):
    """Asks the server that answered last, then the others; asks again while none has a leader."""

    def __init__(self, names: Sequence[str], api: Callable[[str], Api], pace: float = 1.0) -> None:
        self._node = "every server"
        self._patience = PATIENCE * pace
        self._names = list(names)
        self._api = api

    def close(self) -> None:
        """Nothing: the connections belong to the servers' own APIs."""

    def _ask(self, method: str, path: str, body: object, query: dict[str, Any]) -> httpcore.Response:
        try:
            return wait_until(
                f"a server answers to {method} {path}",
                lambda: self._ask_each(method, path, body, query),
                lambda _: True,
                timeout=self._patience,
                every=0.1,
                ignoring=(Unreachable,),
            )
        except TimedOut as error:
            raise Unreachable(str(error)) from None

    def _ask_each(self, method: str, path: str, body: object, query: dict[str, Any]) -> httpcore.Response:
        failed: list[str] = []
        for name in self._names:
            try:
                return self._api(name)._ask(method, path, body, query)
            except Unreachable as error:
                failed.append(str(error))
            except ApiError as error:
                if not NOT_LED.search(error.said):
                    raise
                failed.append(str(error))
            self._names = [*(other for other in self._names if other != name), name]  # asked last from now on
        raise Unreachable("; ".join(failed))
