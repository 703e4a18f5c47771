"""Nomad agents on the nodes of a lab: their configuration, their start, and the cluster they form."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stormpool.agents.any_server import AnyServer
from stormpool.agents.api import Api, ApiError, Unreachable
from stormpool.agents.build import Agent
from stormpool.errors import MachineError
from stormpool.lab import Lab, Role
from stormpool.node import Node, Nodes, Process
from stormpool.plugins import external
from stormpool.wait import wait_until

HTTP_PORT, RPC_PORT = 4646, 4647
MOST_RAFT = 10  # Nomad takes no larger multiplier
NOBODY = "127.0.0.1:1"  # where nothing listens
CONFIG = "/run/nomad/agent.json"
ENDED_WITHIN = 20.0  # seconds that an agent may take to end by itself; 0.1 to 6 as seen
KILLED_WITHIN = 10.0  # seconds that a process may take to end after SIGKILL
READY_TIMEOUT = 60.0  # seconds until a cluster has a leader and all its clients; about 2 s on an idle machine

# What a task with its own root directory finds there: enough for a static shell, nothing of the host.
CHROOT = {"/bin/busybox": "/bin/busybox", "/etc/passwd": "/etc/passwd", "/etc/group": "/etc/group"}

# Fingerprints that only wait for what a lab never has.
DENYLIST = "env_aws,env_azure,env_gce,env_digitalocean,consul,vault,cni,bridge"


@dataclass(frozen=True)
class Terms:
    """What an agent is to know of the version it is, and of what it runs on."""

    version: str
    pace: float = 1.0  # of the nodes: on slow ones all take longer to give each other up

    def raw_exec(self, node: Node) -> dict[str, Any]:
        """The configuration of the driver that runs plugins.

        Before 1.7 its tasks are put in cgroups whose version 2 lets them open no device: no plugin could ask
        a kernel for ZFS (nomad, drivers/shared/executor/executor_universal_linux.go). They are put in none.
        """
        before_1_7 = [int(part) for part in self.version.split(".")[:2]] < [1, 7]
        return {"enabled": True, **({"no_cgroups": True} if node.zfs.in_kernel and before_1_7 else {})}


def config(lab: Lab, node: Node, servers: list[str], terms: Terms) -> dict[str, Any]:
    """The configuration of one node's agent."""
    shared = {
        "name": node.spec.name,
        "data_dir": lab.data_dir,
        "bind_addr": "0.0.0.0",
        "advertise": dict.fromkeys(("http", "rpc", "serf"), node.address),
        "log_level": "DEBUG",
        "disable_update_check": True,
        "leave_on_interrupt": False,
        "leave_on_terminate": False,
        "consul": dict.fromkeys(("auto_advertise", "client_auto_join", "server_auto_join"), False),
    }
    server = node.spec.role is Role.SERVER
    role = _server(lab, servers, terms.pace) if server else _client(lab, servers, terms.raw_exec(node))
    return {**shared, **role}


def _server(lab: Lab, servers: list[str], pace: float) -> dict[str, Any]:
    return {
        "server": {
            "enabled": True,
            "bootstrap_expect": lab.servers,
            "raft_multiplier": min(MOST_RAFT, round(pace)),
            "server_join": {
                "retry_join": [server.partition(":")[0] for server in servers],
                "retry_interval": "1s",
            },
            # Seconds, not the default's half minute: a lost client is declared down within about 7 s.
            "min_heartbeat_ttl": "2s",
            "heartbeat_grace": f"{lab.heartbeat_grace * pace:g}s",
            "failover_heartbeat_ttl": "5s",
        }
    }


def _client(lab: Lab, servers: list[str], raw_exec: dict[str, Any]) -> dict[str, Any]:
    return {
        "client": {
            "enabled": True,
            "servers": servers,
            "network_interface": "eth0",
            "cpu_total_compute": 8000,
            "chroot_env": CHROOT,
            "options": {"fingerprint.denylist": DENYLIST},
        },
        "plugin": {"raw_exec": {"config": raw_exec}, **external.blocks(lab.external_plugins)},
    }


class Agents:
    """The agents of one lab, started and joined."""

    def __init__(self, lab: Lab, nodes: Nodes, agent: Agent, logs: Path) -> None:
        self.agents: dict[str, Process] = {}
        self.version = agent.version
        self.lab = lab
        self._nodes = nodes
        self._agent = agent
        self._logs = logs
        self._apis: dict[str, Api] = {}
        self._any_server = AnyServer(lab.names(Role.SERVER), self.api, nodes.pace)
        self._paused: set[str] = set()
        self._kept: dict[str, Process] = {}
        self._turns = {spec.name: threading.RLock() for spec in lab.nodes()}  # to start and end each agent
        self._others: dict[str, Agent] = {}  # nodes that run another program than the lab's

    def start(self) -> None:
        """Start every agent; clients once the servers answer.

        A client whose first registration is refused tries again only after 15 to 30 s.
        """
        for node in self._of_role(Role.SERVER):
            self.start_agent(node)
        for node in self._of_role(Role.SERVER):
            self._wait_answers(node.spec.name)
        for node in self._of_role(Role.CLIENT):
            self.start_agent(node)

    def servers(self) -> list[str]:
        """The addresses of the servers, with the port that agents talk to."""
        return [f"{server.address}:{RPC_PORT}" for server in self._of_role(Role.SERVER)]

    def restart_alone(self, names: Iterable[str]) -> None:
        """Kill some clients and start them with a server that refuses them; return when they answer."""
        for name in names:
            self.kill(name)
            self._start(self._nodes.nodes[name], [NOBODY])
        for name in names:
            self._wait_answers(name, "agent/self")

    def start_agent(self, node: Node) -> None:
        """Start one node's agent."""
        self._start(node, self.servers())

    def _start(self, node: Node, servers: list[str]) -> None:
        program = self._others.get(node.spec.name, self._agent)
        terms = Terms(program.version, self._nodes.pace)
        node.write(CONFIG, json.dumps(config(self.lab, node, servers, terms), indent=2))
        if node.spec.role is Role.CLIENT:
            for plugin in self.lab.external_plugins:
                external.install(plugin, self.lab, node, self._nodes)
        argv = [str(program.path), "agent", f"-config={CONFIG}"]
        node.put(program.path)
        log = self._logs / f"{node.spec.name}.log"
        self._paused.discard(node.spec.name)
        self.agents[node.spec.name] = node.start(f"agent of {node.spec.name}", argv, env={}, log=log)

    def kill(self, name: str) -> None:
        """SIGKILL one agent, and return when it is gone."""
        self.agents[name].signal(signal.SIGKILL)
        self.agents[name].wait(KILLED_WITHIN)

    def restart(self, name: str, program: Agent | None = None) -> None:
        """SIGTERM one agent and start it again once it has ended, or another program; it answers then."""
        with self._turns[name]:
            self.agents[name].signal(signal.SIGTERM)
            self.agents[name].wait(ENDED_WITHIN)
            if program is not None:
                self._others[name] = program
            self.start_agent(self._nodes.nodes[name])
            self._wait_answers(name)

    def change_back(self, *names: str) -> None:
        """Have nodes run the lab's own program again."""
        for name in names:
            if self._others.get(name, self._agent) is not self._agent:
                self.restart(name, self._agent)
            self._others.pop(name, None)

    @property
    def changed(self) -> tuple[str, ...]:
        """The nodes whose agents are of another program than the lab's."""
        return tuple(self._others)

    def revive(self, *names: str) -> None:
        """Start the agents of some nodes that are up, where they do not run; return when each answers."""
        ended = [name for name in names if self._nodes.nodes[name].up and self._start_ended(name)]
        for name in ended:
            self._wait_answers(name)

    def _start_ended(self, name: str) -> bool:
        """Start an agent, unless it runs; whether it did not."""
        with self._turns[name]:
            ended = not self.agents[name].alive()
            if ended:
                self.start_agent(self._nodes.nodes[name])
            return ended

    def pause(self, name: str) -> None:
        """SIGSTOP one agent."""
        self.agents[name].signal(signal.SIGSTOP)
        self._paused.add(name)

    def resume(self, *names: str) -> None:
        """SIGCONT agents that were paused."""
        for name in names:
            self.agents[name].signal(signal.SIGCONT)
            self._paused.discard(name)

    @property
    def pace(self) -> float:
        """How many times as long everything takes on the nodes."""
        return self._nodes.pace

    def wait_ready(self) -> None:
        """Wait until there is a leader and every client is ready."""
        wait_until(
            "the servers have a leader and every client is ready",
            self._members,
            lambda seen: seen[0] != "" and seen[1].count("ready") == self.lab.clients,
            timeout=READY_TIMEOUT * self.pace,
            every=0.1,
            ignoring=(ApiError, Unreachable),
        )

    def running_servers(self) -> list[str]:
        """The servers that can answer: those whose agents run, and are not paused."""
        servers = [node.spec.name for node in self._of_role(Role.SERVER) if node.up]
        return [name for name in servers if self.agents[name].alive() and name not in self._paused]

    def wait_agreed(self) -> None:
        """Wait until all servers that run, and are not paused, hold one for the leader. Raises `TimedOut`."""
        wait_until(
            "the servers agree on a leader",
            lambda: {self.api(name).get("status/leader", stale="") for name in self.running_servers()},
            lambda leaders: len(leaders) == 1 and "" not in leaders,
            timeout=READY_TIMEOUT * self.pace,
            every=0.1,
            ignoring=(ApiError, Unreachable),
        )

    def _of_role(self, role: Role) -> list[Node]:
        return [self._nodes.nodes[name] for name in self.lab.names(role)]

    def _wait_answers(self, name: str, path: str = "status/leader") -> None:
        def answers() -> bool:
            self.must_live(name)
            self.api(name).get(path)
            return True

        wait_until(
            f"{name} answers",
            answers,
            timeout=READY_TIMEOUT * self.pace,
            every=0.02,
            ignoring=(ApiError, Unreachable),
        )

    def _members(self) -> tuple[str, list[str]]:
        for name in self.agents:
            self.must_live(name)
        api = self.api()
        return api.get("status/leader"), [node["Status"] for node in api.get("nodes")]

    def id_of(self, name: str) -> str:
        """The id the servers know a client by. Raises `MachineError` when they know none of that name."""
        for seen in self.api().get("nodes"):
            if seen["Name"] == name:
                return str(seen["ID"])
        raise MachineError(f"the servers know no node {name}")

    def known(self) -> dict[str, str]:
        """The clients the servers know, each with its status."""
        return {seen["Name"]: seen["Status"] for seen in self.api().get("nodes")}

    def wait_known(self, *names: str) -> None:
        """Wait until the servers know some clients, or all, that are up, and hold them for ready."""
        up = [node.spec.name for node in self._of_role(Role.CLIENT) if node.up]
        wanted = dict.fromkeys((name for name in up if name in (names or up)), "ready")
        wait_until(
            f"{', '.join(names) or 'every client'} is ready",
            self.known,
            lambda seen: seen.items() >= wanted.items(),
            timeout=READY_TIMEOUT * self.pace,
        )

    def must_live(self, *names: str) -> None:
        """Raise when an agent, of these or of all, has ended by itself."""
        for name in names or tuple(self.agents):
            process = self.agents[name]
            if not process.alive():
                raise AgentEnded(name, process.code(), self._logs / f"{name}.log")

    def api(self, name: str = "") -> Api:
        """The API of one node's agent; of whichever server answers when left out."""
        if not name:
            return self._any_server
        if name not in self._apis:
            self._apis[name] = Api(name, self._nodes.nodes[name].gate(HTTP_PORT), self.pace)
        return self._apis[name]

    def keep(self) -> None:
        """Remember what runs now, for `take_back`."""
        self._kept = dict(self.agents)

    def take_back(self) -> None:
        """The nodes were set back to when `keep` was called: what runs is what ran then."""
        self.agents = dict(self._kept)
        self._paused.clear()
        self._others.clear()

    def close(self) -> None:
        """Close the connections to the agents."""
        for api in self._apis.values():
            api.close()
        self._apis.clear()


class AgentEnded(MachineError):
    """An agent ended by itself while the lab came up."""

    def __init__(self, name: str, code: int | None, log: Path) -> None:
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        super().__init__(
            f"the agent of {name} ended with {code}; the end of {log}:\n" + "\n".join(lines[-8:])
        )
