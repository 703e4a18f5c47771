"""The nodes of one lab, from its init to its end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stormpool import ledger, processes, shell
from stormpool.capability import Capability
from stormpool.errors import MachineError
from stormpool.lab import Lab, NodeSpec
from stormpool.providers import cgroups
from stormpool.providers.netns.enter import HERE, NEW, USER, Argv, address_of, enter, join
from stormpool.providers.netns.node import NamespaceNode
from stormpool.providers.netns.pipes import expect, say
from stormpool.sockets import ShortPaths

BRIDGE = "lab0"
INTERFACE = "eth0"
UP_TIMEOUT = 30.0  # seconds for namespaces to go; they take 0.1 s on an idle machine
DISK = "75%"  # of memory: what a lab's files may take, all nodes together


class NamespaceNodes:
    """The nodes of one lab that is up."""

    python = sys.executable
    door = "/lab/door"
    cloud = "/lab/cloud"
    capabilities: frozenset[Capability] = frozenset()
    has_cgroups = bool(cgroups.hierarchies())

    def __init__(self, lab: Lab, lab_id: str, run_dir: Path) -> None:
        self._nodes: dict[str, NamespaceNode] = {}
        self.door_here = run_dir / "door"
        self.door_here.mkdir(parents=True, exist_ok=True)
        self.sockets = ShortPaths(self.door_here)
        self._lab = lab
        self._entry = ledger.Entry(lab_id, run_dir)
        self._spawned: list[subprocess.Popen[bytes]] = []

    @property
    def nodes(self) -> Mapping[str, NamespaceNode]:
        """Every node, by name."""
        return self._nodes

    def spawn(self, argv: Argv, **how: Any) -> subprocess.Popen[bytes]:
        """Start a child of the harness that enters the lab; it ends with the lab, and is reaped then.

        In a session of its own: a Ctrl-C at the terminal is for the harness to act on.
        """
        child = subprocess.Popen(list(argv), start_new_session=True, **how)
        self._spawned.append(child)
        return child

    def up(self) -> None:
        """Bring everything up, or leave nothing and raise."""
        try:
            self._entry.write(cgroups=cgroups.of_lab(self._entry.lab_id))
            self._start_lab()
            self._start_nodes()
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        """End the lab's init, wait until the kernel has undone the rest, remove the cgroups."""
        if self._entry.init is not None:
            processes.signal(self._entry.init, signal.SIGKILL)
        for child in self._spawned:  # the first is the init's parent; the others were in its namespaces
            if self._entry.init is None:
                child.kill()
            child.wait(UP_TIMEOUT)
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):  # what was not yet read of us is of no use now
                        stream.close()
        self._spawned.clear()
        self._entry.undo()
        if self.door_here.exists():
            self.sockets.close()
            shutil.rmtree(self.door_here)

    def keep(self, nomad: str, addresses: Mapping[str, str]) -> ledger.Written:
        """Write down how to get at the nodes, for other processes to find; return all that is written."""
        ways = {name: enter(node.init) for name, node in self._nodes.items()}
        self._entry.write(kept=True, nomad=nomad, nodes=ways, addresses=dict(addresses))
        return self._entry.written

    def left_behind(self) -> list[str]:
        """What this host still shows of the lab."""
        return self._entry.left_behind()

    def _start_lab(self) -> None:
        script = ["sh", str(HERE / "lab_init.sh"), DISK, str(self.door_here)]
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        argv = ["unshare", *user, *NEW, "--mount-proc", "--kill-child", *script]
        init = self.spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        expect(init, "up", "the lab's namespaces")
        self._entry.write(init=ledger.identity(processes.only_child(init.pid, lambda: True)))

    def _start_nodes(self) -> None:
        specs = self._lab.nodes()
        started = {spec.name: self._start_node(spec) for spec in specs}
        inits = {}
        for name, init in started.items():
            expect(init, "up", f"node {name}")
            unshared = processes.only_child(init.pid, lambda: True)
            inits[name] = processes.only_child(unshared, lambda: True)
        self._plug_in(inits)
        for init in started.values():
            say(init, "go\n")
        for spec in specs:
            expect(started[spec.name], "ready", f"node {spec.name}")
            dirs = cgroups.of_node(self._entry.lab_id, spec.name)
            self._nodes[spec.name] = NamespaceNode(spec, inits[spec.name], self, dirs)

    def _start_node(self, spec: NodeSpec) -> subprocess.Popen[bytes]:
        dirs = cgroups.make(self._entry.lab_id, spec.name)
        own = ["--cgroup"] if dirs else []
        python = [sys.executable, "-I", "-S", str(HERE / "node_init.py")]
        script = [*python, spec.name, address_of(spec), self._lab.data_dir, *dirs]
        argv = [*enter(self._lab_init), *join(dirs), "unshare", *NEW, *own, "--mount-proc", *script]
        return self.spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def _plug_in(self, inits: Mapping[str, int]) -> None:
        """Give every node its end of a veth pair; the other end is a port of the lab's bridge."""
        lines = []
        for name, init in inits.items():
            lines += [
                f"link add {name} type veth peer name {INTERFACE} netns {init}",
                f"link set {name} master {BRIDGE} up",
            ]
        # The lab's network, this host's pids: the kernel resolves `netns PID` in the caller's pid namespace.
        network = ["nsenter", f"--target={self._lab_init}", *USER, "--net", "--"]
        shell.run([*network, "ip", "-batch", "-"], input="\n".join(lines) + "\n")

    @property
    def _lab_init(self) -> int:
        if self._entry.init is None:
            raise MachineError("the lab's init is not up")
        return self._entry.init
