"""Has clients tell the servers at once of the plugins they run.

A client that was registered before its plugins were up tells of them only at its next node update, 5 to 10 s
later (nomad, client/client.go, `nodeUpdateRetryIntv`). One that is started again while its plugins go on, and
is refused by the server it knows, finds them, and the next time it registers tells of them: that is at once
after a question it could pass on to a server (`rpcRetryWatcher`). A client that knows no server will not do:
it asks with what it was when it began to, for 5 s.
"""

from __future__ import annotations

from collections.abc import Callable

from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.nomad import Agents
from stormpool.lab import Role
from stormpool.wait import wait_until

REGISTERED_WITHIN = 20.0  # seconds; 0.1 on an idle machine
LOOK_EVERY = 0.02


def again(agents: Agents, plugins_found: Callable[[], bool]) -> None:
    """Start every client anew, so that it registers with its plugins.

    `plugins_found`: whether every client has found its plugins since it was started.
    """
    clients = agents.lab.names(Role.CLIENT)
    agents.restart_alone(clients)
    what = "clients that were started again have found their plugins"
    try:
        wait_until(what, plugins_found, timeout=REGISTERED_WITHIN)
    finally:  # without it they would never know a server
        for name in clients:
            _join(agents, name)


def _join(agents: Agents, name: str) -> None:
    """Name the servers to a client, and wake its registration."""
    agents.api(name).put("agent/servers", address=agents.servers())
    wait_until(
        f"{name} asks the servers",
        lambda: agents.api(name).get("status/leader"),
        timeout=REGISTERED_WITHIN,
        every=LOOK_EVERY,
        ignoring=(ApiError, Unreachable),
    )
