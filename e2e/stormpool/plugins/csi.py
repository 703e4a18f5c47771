"""CSI plugins in a lab: jobs that run them on the agents, each instance with a tap on its socket.

The plugin itself is not changed: its task gets another `CSI_ENDPOINT`, and a sidecar that starts before it,
the tap, listens where the agent looks.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

from stormpool.agents.api import Api
from stormpool.agents.books import PLUGIN
from stormpool.agents.nomad import Agents
from stormpool.errors import MachineError, TimedOut
from stormpool.history import History
from stormpool.lab import CsiPlugin, Lab, Role
from stormpool.node import Nodes
from stormpool.programs import fixture_environment
from stormpool.tap.collector import SOCKET
from stormpool.wait import wait_until

HEALTHY_SLACK = 30.0  # seconds: a node update every 5 to 10 s, a fingerprint every 30
PLUGIN_TASK = "plugin"
TAKEN_IN = 50_000_000  # nanoseconds in which an agent must have taken in what it was answered
# The calls in which a plugin tells of itself, and agents go on to rely on.
SELF_DESCRIPTIONS = frozenset({"ControllerGetCapabilities", "NodeGetCapabilities", "NodeGetInfo"})
GIVE_UP_AFTER = 3  # restarts of a plugin's task that never was healthy
NOT_YET: dict[str, Any] = {"Failed": False, "Restarts": 0, "Events": []}
STARTED = 10**9  # nanoseconds in a second, the unit of durations in Nomad's JSON


def zfs(
    *,
    kind: str = "attach",
    controllers: int | None = None,
    latency: float = 0.0,
    mutant: str = "",
    id: str = "zfs",
    health_timeout: float = 30.0,
    **parameters: str,
) -> CsiPlugin:
    """The reference plugin (`fixtures/zfs_csi`).

    `kind`: of its volumes (see `zfs_csi`). `controllers`: a number of controllers apart from the node parts;
    a monolith on every client when left out. `latency`: seconds that a change of an attachment takes, and the
    making of a dataset. `mutant`: a fault to build in (see `zfs_csi.mutants`). `health_timeout`: seconds
    until an agent gives up on it. `parameters`: others of its volumes, as `reservation="on"`.
    """
    argv = (sys.executable, "-m", "zfs_csi", "--node={node}", "--cloud={cloud}", "--role={role}")
    env = {**fixture_environment(), "ZFS_CSI_MUTANT": mutant}
    return CsiPlugin(
        id=id,
        argv=(*argv, f"--latency={latency}"),
        env=env,
        controllers=controllers,
        parameters={"kind": kind, **parameters},
        block=kind == "zvol",
        health_timeout=health_timeout,
    )


def deploy(plugin: CsiPlugin, lab: Lab, nodes: Nodes, agents: Agents) -> None:
    """Register a plugin's jobs, without waiting for it."""
    for name in lab.names(Role.CLIENT):
        # Before 1.4 agents knew no StagePublishBaseDir, and named paths below this one, whatever it is.
        link = ["ln", "-sfn", _base(plugin, "monolith" if plugin.controllers is None else "node", lab)]
        nodes.nodes[name].run(["mkdir", "-p", "/local"])
        nodes.nodes[name].run([*link, "/local/csi"])
    for role in ("monolith",) if plugin.controllers is None else ("controller", "node"):
        agents.api().put("jobs", {"Job": job(plugin, role, lab, nodes)})


def wait_healthy(plugin: CsiPlugin, lab: Lab, agents: Agents) -> None:
    """Wait until the servers hold every instance for healthy; give up early on one that cannot start.

    Raises `MachineError` with what the agents say of it.
    """

    def look() -> tuple[bool, bool]:
        return is_healthy(plugin, lab, agents.api()), fails(plugin, agents)

    bound = (HEALTHY_SLACK + 2 * plugin.health_timeout) * agents.pace
    try:
        seen = wait_until(f"plugin {plugin.id} is healthy", look, any, timeout=bound, every=0.2)
    except TimedOut:
        seen = look()
    if not seen[0]:
        raise MachineError(f"plugin {plugin.id} never got ready:\n{_why_not(plugin, agents)}")


def all_described(lab: Lab, history: History, since: int, now: int) -> bool:
    """Whether each instance of each plugin has told an agent since then what it can do, a moment ago."""
    rpcs = [rpc for rpc in history.rpcs(SELF_DESCRIPTIONS) if rpc.ok and rpc.call.t >= since]
    if any(now - rpc.left < TAKEN_IN for rpc in rpcs):
        return False
    told = {(rpc.call.plugin, rpc.call.method, rpc.call.node) for rpc in rpcs}
    counts = Counter((plugin, method) for plugin, method, _ in told)
    return all(
        counts[plugin.id, "ControllerGetCapabilities"] >= (plugin.controllers or lab.clients)
        and counts[plugin.id, "NodeGetCapabilities"] >= lab.clients
        and counts[plugin.id, "NodeGetInfo"] >= lab.clients
        for plugin in lab.csi_plugins
    )


def fails(plugin: CsiPlugin, agents: Agents) -> bool:
    """Whether an instance of a plugin failed, or ended so often that it will never be healthy."""
    states = [task for _, task in _tasks(plugin, agents)]
    return any(task["Failed"] or task["Restarts"] >= GIVE_UP_AFTER for task in states)


def is_healthy(plugin: CsiPlugin, lab: Lab, api: Api) -> bool:
    """Whether the servers hold every instance of a plugin for healthy, and none that is on its way out."""
    seen = api.find(f"plugin/csi/{plugin.id}") or {}
    wanted = {stub["ID"] for stub in seen.get("Allocations") or () if stub["DesiredStatus"] == "run"}

    def well(part: str) -> int:
        instances = (seen.get(part) or {}).values()
        return sum(each["Healthy"] and each["AllocID"] in wanted for each in instances)

    return well("Controllers") >= (plugin.controllers or lab.clients) and well("Nodes") >= lab.clients


def job(plugin: CsiPlugin, role: str, lab: Lab, nodes: Nodes) -> dict[str, Any]:
    """The job that runs one role of a plugin, in the shape of Nomad's JSON API."""
    everywhere = role != "controller"
    name = f"{PLUGIN}{plugin.id}-{role}"
    group = {
        "Name": role,
        "Count": 1 if everywhere else plugin.controllers,
        "Tasks": [_tap(plugin, lab, nodes), _tap_listens(lab), _task(plugin, role, lab, nodes)],
        "RestartPolicy": {"Attempts": 20, "Interval": 600 * STARTED, "Delay": STARTED, "Mode": "delay"},
        "Constraints": [] if everywhere else [{"Operand": "distinct_hosts", "RTarget": "true"}],
    }
    return {
        "ID": name,
        "Name": name,
        "Type": "system" if everywhere else "service",
        "Datacenters": ["dc1"],
        "Priority": 80,
        "TaskGroups": [group],
    }


def _base(plugin: CsiPlugin, role: str, lab: Lab) -> str:
    """Where an agent has a plugin's volumes mounted, as the agent itself sees it."""
    return f"{lab.data_dir}/client/csi/{role}/{plugin.id}"


def _sockets(lab: Lab) -> str:
    """The directory of an instance's sockets (nomad, `plugin_supervisor_hook.go`)."""
    return f"{lab.data_dir}/client/csi/plugins/${{NOMAD_ALLOC_ID}}"


def _tap(plugin: CsiPlugin, lab: Lab, nodes: Nodes) -> dict[str, Any]:
    hello = {"plugin": plugin.id, "node": "${node.unique.name}", "alloc": "${NOMAD_ALLOC_ID}"}
    argv = {
        "--listen": f"{_sockets(lab)}/csi.sock",
        "--plugin": f"{_sockets(lab)}/plugin.sock",
        "--report": f"{nodes.door}/{SOCKET}",
        "--hello": json.dumps(hello),
    }
    flat = [word for pair in argv.items() for word in pair]
    return {
        "Name": "tap",
        "Driver": "raw_exec",
        "Lifecycle": {"Hook": "prestart", "Sidecar": True},
        "Config": {"command": nodes.python, "args": ["-m", "stormpool.tap.proxy", *flat]},
        "Resources": {"CPU": 50, "MemoryMB": 32},
    }


def _tap_listens(lab: Lab) -> dict[str, Any]:
    """A task that is over when the tap listens: the plugin's own starts after it.

    An agent that finds no socket as the plugin starts looks again 10 s later (nomad, plugins/csi/client.go).
    """
    wait = f"until [ -S {_sockets(lab)}/csi.sock ]; do sleep 0.02; done"
    return {
        "Name": "tap-listens",
        "Driver": "raw_exec",
        "Lifecycle": {"Hook": "prestart", "Sidecar": False},
        "Config": {"command": "/bin/sh", "args": ["-c", wait]},
        "Resources": {"CPU": 10, "MemoryMB": 10},
    }


def _task(plugin: CsiPlugin, role: str, lab: Lab, nodes: Nodes) -> dict[str, Any]:
    words = {
        "endpoint": f"unix://{_sockets(lab)}/plugin.sock",
        "node": "${node.unique.name}",
        "role": role,
        "cloud": nodes.cloud,
    }
    command, *args = (word.format_map(words) for word in plugin.argv)
    env = {name: value.format_map(words) for name, value in plugin.env.items()}
    return {
        "Name": PLUGIN_TASK,
        "Driver": "raw_exec",
        "Config": {"command": command, "args": args},
        "Env": {**env, "CSI_ENDPOINT": words["endpoint"]},
        "CSIPluginConfig": {
            "ID": plugin.id,
            "Type": role,
            "MountDir": "/csi",
            # raw_exec has no mounts: the plugin is told the paths as the agent sees them.
            "StagePublishBaseDir": _base(plugin, role, lab),
            "HealthTimeout": int(plugin.health_timeout * nodes.pace * STARTED),
        },
        "KillTimeout": 5 * STARTED,
        "Resources": {"CPU": 100, "MemoryMB": 128},
    }


def _tasks(plugin: CsiPlugin, agents: Agents) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The allocations of a plugin, each with what its agent says of the plugin's task."""
    return [
        (stub, (stub.get("TaskStates") or {}).get(PLUGIN_TASK) or NOT_YET)
        for stub in agents.api().get("allocations")
        if stub["JobID"].startswith(f"{PLUGIN}{plugin.id}-")
    ]


def _why_not(plugin: CsiPlugin, agents: Agents) -> str:
    """What the agents say of a plugin's tasks."""
    lines = []
    for stub, task in _tasks(plugin, agents):
        events = [event["DisplayMessage"] for event in task["Events"] or [] if event["DisplayMessage"]]
        lines.append(f"  on {stub['NodeName']}: {stub['ClientStatus']}; {'; '.join(events[-6:])}")
    return "\n".join(lines) or "  no allocation was placed for it"
