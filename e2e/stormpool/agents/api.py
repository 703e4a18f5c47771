"""A Nomad agent's HTTP API: paths and JSON, nothing more. Errors say which node was asked what."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import Any
from urllib.parse import urlencode

import httpcore

from stormpool.agents.unix_http import UnixSockets
from stormpool.errors import MachineError, TimedOut

MOST_AT_ONCE = 64  # connections to one agent
TIMEOUT = 20.0  # seconds for an answer; a blocking query waits 10 of them at most


LIMITS = ("connect", "read", "write", "pool")  # what httpcore takes a limit for
FAILURES = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException)


class ApiError(MachineError):
    """An agent refused a request; `status` is the HTTP status."""

    def __init__(self, node: str, method: str, path: str, status: int, said: str) -> None:
        super().__init__(f"{node}: {method} {path}: {status}: {said.strip()}")
        self.status = status
        self.said = said.strip()


class Unreachable(MachineError):
    """An agent did not answer."""


class Api:
    """One agent's API, reached through a unix socket on this host. Safe to use from several threads."""

    def __init__(self, node: str, socket: str, pace: float = 1.0) -> None:
        """`pace`: how many times as long it may take to answer."""
        self._node = node
        self._timeout = TIMEOUT * pace
        self._pool = httpcore.ConnectionPool(
            uds=socket, network_backend=UnixSockets(), max_connections=MOST_AT_ONCE
        )

    def get(self, path: str, **query: str | int) -> Any:
        """GET a path, decoded."""
        return self.call("GET", path, query=query)

    def find(self, path: str) -> Any:
        """GET a path, decoded; None where there is nothing."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def until(
        self,
        path: str,
        holds: Callable[[Any], bool],
        *,
        timeout: float,
        missing: object = None,
        asking: Mapping[str, str] = MappingProxyType({}),
    ) -> Any:
        """GET a path again whenever it changed, until the answer `holds`, and return that one.

        By blocking queries: the agent answers when there is news. A path that is not there counts as
        `missing`. `asking`: what else to ask with. `timeout` is in seconds; raises `TimedOut` with the last
        answer.
        """
        deadline = time.monotonic() + timeout
        index = 0
        while True:
            left = deadline - time.monotonic()
            query = {**asking, "index": index, "wait": f"{max(1, round(min(left, 10.0) * 1000))}ms"}
            try:
                answer = self._ask("GET", path, None, query)
                value, index = json.loads(answer.content), _index(answer)
            except ApiError as error:
                if error.status != 404:
                    raise
                value, index = missing, 0
            if holds(value):
                return value
            if left <= 0:
                raise TimedOut(
                    f"{self._node}: {path} not as wanted within {timeout:g} s; last: {str(value)[:400]}"
                )
            if index == 0:
                _pause(0.1)

    def put(self, path: str, body: object = None, **query: str | int | list[str]) -> Any:
        """PUT a body to a path."""
        return self.call("PUT", path, body=body, query=query)

    def delete(self, path: str, **query: str | int) -> Any:
        """DELETE a path."""
        return self.call("DELETE", path, query=query)

    def call(
        self, method: str, path: str, *, body: object = None, query: dict[str, Any] | None = None
    ) -> Any:
        """Ask, and decode the answer (None when it is empty).

        Raises `ApiError` when the agent refuses, `Unreachable` when it does not answer.
        """
        answer = self._ask(method, path, body, query or {})
        return json.loads(answer.content) if answer.content else None

    def _ask(self, method: str, path: str, body: object, query: dict[str, Any]) -> httpcore.Response:
        url = f"http://nomad/v1/{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")
        content = None if body is None else json.dumps(body).encode()
        try:
            answer = self._pool.request(
                method, url, content=content, extensions={"timeout": dict.fromkeys(LIMITS, self._timeout)}
            )
        except (*FAILURES, RuntimeError) as error:  # RuntimeError: closed meanwhile
            raise Unreachable(f"{self._node}: {method} {path}: {error or type(error).__name__}") from error
        if answer.status >= 400:
            raise ApiError(self._node, method, path, answer.status, answer.content.decode(errors="replace"))
        return answer

    def close(self) -> None:
        """Close its connections."""
        self._pool.close()

    def __enter__(self) -> Api:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _index(answer: httpcore.Response) -> int:
    """Where the servers' state was when they answered: what a blocking query goes on from."""
    headers = {name.lower(): value for name, value in answer.headers}
    return int(headers.get(b"x-nomad-index", 0))


def _pause(seconds: float) -> None:
    """Between two looks at what has no index to wait on."""
    threading.Event().wait(seconds)
