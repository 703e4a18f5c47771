"""Device plugins and task drivers in a lab: programs that agents start themselves, each behind a tap.

The plugin is not changed: what stands in the agent's `plugin_dir` under its name is a shell script that
starts the tap, which starts the plugin.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from stormpool.agents.api import Api
from stormpool.errors import MachineError, TimedOut
from stormpool.lab import ExternalPlugin, Lab, PluginKind
from stormpool.node import Node, Nodes
from stormpool.tap.collector import SOCKET
from stormpool.wait import wait_until

if TYPE_CHECKING:
    from stormpool.agents.nomad import Agents

# Seconds until servers must know what plugins found: it comes with a client's registration, or 5 to 10 s
# later (nomad, client/client.go, `nodeUpdateRetryIntv`).
HEALTHY_WITHIN = 30.0
SHIM = "stormpool.tap.shim"


def install(plugin: ExternalPlugin, lab: Lab, node: Node, nodes: Nodes) -> None:
    """Put a plugin where a node's agent finds it; agents start what they find."""
    path = f"{lab.data_dir}/plugins/{plugin.id}"
    node.write(path, launcher(plugin, node.spec.name, nodes))
    node.run(["chmod", "+x", path])


def launcher(plugin: ExternalPlugin, node: str, nodes: Nodes) -> str:
    """The script that stands in a plugin's place."""
    words = {"node": node, "cloud": nodes.cloud}
    hello = json.dumps({"plugin": plugin.id, "node": node})
    tap = [nodes.python, "-m", SHIM, f"--hello={hello}", f"--report={nodes.door}/{SOCKET}", "--"]
    argv = [*tap, *(word.format_map(words) for word in plugin.argv)]
    exports = [f"export {name}={shlex.quote(value.format_map(words))}" for name, value in plugin.env.items()]
    return "\n".join(["#!/bin/sh", *exports, f"exec {shlex.join(argv)}", ""])


def blocks(plugins: tuple[ExternalPlugin, ...]) -> dict[str, Any]:
    """Their `plugin` blocks in an agent's configuration; Nomad 1.10 starts none without one."""
    return {each.id: {"config": dict(each.config)} for each in plugins}


def wait_healthy(lab: Lab, agents: Agents) -> None:
    """Wait until the servers hold every plugin of every client for healthy. Raises `MachineError`."""
    try:
        wait_until(
            "every plugin that agents start is healthy on every client",
            lambda: [each.id for each in lab.external_plugins if not is_healthy(each, lab, agents.api())],
            lambda sick: not sick,
            timeout=HEALTHY_WITHIN * agents.pace,
            every=0.1,
        )
    except TimedOut as error:
        raise MachineError(f"{error}; see the agents' logs") from error


def is_healthy(plugin: ExternalPlugin, lab: Lab, api: Api) -> bool:
    """Whether the servers hold a plugin for healthy on every client: a driver, or one device at least."""
    clients = [api.get(f"node/{stub['ID']}") for stub in api.get("nodes") if stub["Status"] == "ready"]
    devices = sum(each.kind == PluginKind.DEVICE for each in lab.external_plugins)
    return len(clients) == lab.clients and all(
        driver_is_healthy(plugin.id, client)
        if plugin.kind == PluginKind.DRIVER
        else groups_with_devices(client) >= devices
        for client in clients
    )


def driver_is_healthy(name: str, client: dict[str, Any]) -> bool:
    """Whether a client's driver of that name is healthy, by the servers' word."""
    return bool(((client.get("Drivers") or {}).get(name) or {}).get("Healthy"))


def groups_with_devices(client: dict[str, Any]) -> int:
    """How many groups of devices a client has a healthy one of, by the servers' word.

    Which plugin found them they do not know.
    """
    groups = (client.get("NodeResources") or {}).get("Devices") or []
    return sum(any(instance["Healthy"] for instance in group["Instances"] or []) for group in groups)
