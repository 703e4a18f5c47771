"""Brings a lab's plugins up, all of them healthy by the servers' word, as fast as their agents let us."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial

from stormpool.agents import registration
from stormpool.agents.nomad import Agents
from stormpool.errors import TimedOut
from stormpool.history import History
from stormpool.lab import Lab
from stormpool.node import Nodes
from stormpool.plugins import csi
from stormpool.wait import wait_until

PLUGINS_TIMEOUT = 20.0  # seconds until clients must have found their plugins; 2 on an idle machine
HURRY_TIMES = 3  # how often clients are started again before their own node updates are waited for
BY_ITSELF = 5.0  # seconds, at least, until a client tells of new plugins by itself (see `registration`)
ANEW = 1.0  # seconds in which a client starts, or a plugin of its own, three times; 0.7 on an idle machine
TOLD_WITHIN = 1.0  # seconds in which a registration is known to all servers


class BringUp:
    """One lab's plugins. `so_far`: what has happened by now, and when now is."""

    def __init__(self, lab: Lab, agents: Agents, so_far: Callable[[], tuple[History, int]]) -> None:
        self._lab = lab
        self._agents = agents
        self._so_far = so_far

    def start(self, nodes: Nodes) -> None:
        """Deploy every plugin, and return when all are healthy. Raises `MachineError` when one never is."""
        for plugin in self._lab.csi_plugins:
            csi.deploy(plugin, self._lab, nodes, self._agents)
        if self._is_sooner(nodes.pace):
            with contextlib.suppress(TimedOut):  # what is slow or fails is waited for, as any plugin
                wait_until("clients have found their plugins", self._found_or_failed, timeout=PLUGINS_TIMEOUT)
                self._hurry()
        self._agents.wait_ready()  # a client that was given up meanwhile has its plugins deployed once more
        for plugin in self._lab.csi_plugins:
            csi.wait_healthy(plugin, self._lab, self._agents)

    def _is_sooner(self, pace: float) -> bool:
        """Whether clients that are started again are back before they would tell of their plugins anyway.

        And before the servers give them up, with all that runs there.
        """
        plugins = len(self._lab.external_plugins)
        return ANEW * pace * (1 + plugins) < BY_ITSELF and ANEW * plugins <= self._lab.heartbeat_grace

    def _hurry(self) -> None:
        """Have the servers hear of plugins as soon as they are up; they would at the next node update."""
        for _ in range(HURRY_TIMES if self._found(0) else 0):
            _, now = self._so_far()
            registration.again(self._agents, partial(self._found, now))
            if self._told():
                return

    def _found(self, since: int) -> bool:
        """Whether every client has asked every plugin it runs for what it can do."""
        history, now = self._so_far()
        return csi.all_described(self._lab, history, since, now)

    def _found_or_failed(self) -> bool:
        return self._found(0) or any(csi.fails(each, self._agents) for each in self._lab.csi_plugins)

    def _told(self) -> bool:
        """Whether the servers hold every plugin for healthy, which they do at once where they were told."""
        api = self._agents.api()
        try:
            return wait_until(
                "plugins are healthy",
                lambda: all(csi.is_healthy(each, self._lab, api) for each in self._lab.csi_plugins),
                timeout=TOLD_WITHIN,
            )
        except TimedOut:
            return False
