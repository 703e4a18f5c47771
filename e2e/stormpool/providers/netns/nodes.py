"""The nodes of one lab, from its init to its end."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stormpool import ledger, processes, shell
from stormpool.capability import Capability
from stormpool.errors import MachineError, Misuse
from stormpool.lab import Lab, NodeSpec
from stormpool.providers import cgroups, checks
from stormpool.providers.addresses import INTERFACE, address_of, card_of
from stormpool.providers.namespaces import NEW
from stormpool.providers.netns.enter import BRIDGE, HERE, Argv, enter, join, network
from stormpool.providers.netns.links import NamespaceLinks
from stormpool.providers.netns.node import NamespaceNode
from stormpool.providers.pipes import close, expect, say
from stormpool.sockets import ShortPaths

UP_TIMEOUT = 30.0  # seconds for namespaces to go; they take 0.1 s on an idle machine
DISK = "75%"  # of memory: what a lab's files may take, all nodes together


class NamespaceNodes:
    """The nodes of one lab that is up."""

    python = sys.executable
    door = "/lab/door"
    cloud = "/lab/cloud"
    pace = 1.0
    has_cgroups = bool(cgroups.hierarchies())

    def __init__(self, lab: Lab, lab_id: str, run_dir: Path) -> None:
        self._nodes: dict[str, NamespaceNode] = {}
        self.door_here = run_dir / "door"
        self.door_here.mkdir(parents=True, exist_ok=True)
        self.sockets = ShortPaths(self.door_here)
        self._lab = lab
        self._entry = ledger.Entry(lab_id, run_dir)
        self._spawned: list[subprocess.Popen[bytes]] = []
        self.links = NamespaceLinks(self)

    @property
    def nodes(self) -> Mapping[str, NamespaceNode]:
        """Every node, by name."""
        return self._nodes

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What can be done to them."""
        return capabilities()

    def spawn(self, argv: Argv, **how: Any) -> subprocess.Popen[bytes]:
        """Start a child of the harness that enters the lab; it ends with the lab, and is reaped then.

        In a session of its own: a Ctrl-C at the terminal is for the harness to act on.
        """
        child = subprocess.Popen(list(argv), start_new_session=True, **how)
        self._spawned.append(child)
        return child

    def forget(self, child: subprocess.Popen[bytes]) -> None:
        """A child has ended, and was reaped."""
        if child in self._spawned:
            self._spawned.remove(child)

    def up(self) -> None:
        """Bring everything up, or leave nothing and raise."""
        try:
            self._entry.write(cgroups=cgroups.of_lab(self._entry.lab_id))
            self._start_lab()
            self._start_nodes(self._lab.nodes())
        except BaseException:
            self.down()
            raise

    def lead_in(self, name: str) -> None:
        """Nothing to do: nodes see all of the directory."""

    def crash(self, name: str, *, panic: bool = False) -> None:
        """Cut a node's power: its link first, so that nobody hears its connections close; then its init.

        `panic`: a plan with it is refused; the kernel is the host's.
        """
        assert not panic
        node = self._nodes[name]
        if not node.up:
            return
        self.links.unplug(name)
        self.ip(f"link del {name}")
        node.power_off()
        cgroups.remove(cgroups.of_node(self._entry.lab_id, name))

    def boot(self, name: str) -> None:
        """Start a node that has crashed: new namespaces on the same disk, with the same name and address."""
        if self._nodes[name].up:
            return
        self._start_nodes([self._nodes[name].spec])
        self.links.plug()
        if self._entry.written.kept:
            self._entry.write(nodes=self._ways())

    def ip(self, *lines: str) -> None:
        """Run commands of `ip` in the lab's network, in order.

        In this host's pid namespace: the kernel resolves `netns PID` in the caller's.
        """
        shell.run([*network(self.init), "ip", "-batch", "-"], input="\n".join(lines) + "\n")

    def copy(self) -> None:
        """Namespaces cannot be copied. Raises `Misuse`."""
        raise Misuse("namespaces cannot be copied", fix="see `capabilities`")

    def revert(self) -> None:
        """The same."""
        self.copy()

    def down(self) -> None:
        """End the lab's init, wait until the kernel has undone the rest, remove the cgroups."""
        if self._entry.init is not None:
            processes.signal(self._entry.init, signal.SIGKILL)
        for child in self._spawned:  # the first is the init's parent; the others were in its namespaces
            if self._entry.init is None:
                child.kill()
            child.wait(UP_TIMEOUT)
            close(child)
        self._spawned.clear()
        self._entry.undo()
        if self.door_here.exists():
            self.sockets.close()
            shutil.rmtree(self.door_here)

    def keep(self, nomad: str, addresses: Mapping[str, str]) -> ledger.Written:
        """Write down how to get at the nodes, for other processes to find; return all that is written."""
        self._entry.write(kept=True, nomad=nomad, nodes=self._ways(), addresses=dict(addresses))
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

    def _ways(self) -> dict[str, list[str]]:
        return {name: enter(node.init) for name, node in self._nodes.items() if node.up}

    def _start_nodes(self, specs: Sequence[NodeSpec]) -> None:
        started = {spec: self._start_node(spec) for spec in specs}
        inits = {}
        for spec, init in started.items():
            expect(init, "up", f"node {spec.name}")
            unshared = processes.only_child(init.pid, lambda: True)
            inits[spec] = processes.only_child(unshared, lambda: True)
        self._plug_in(inits)
        for init in started.values():
            say(init, "go\n")
        for spec in specs:
            expect(started[spec], "ready", f"node {spec.name}")
            node = self._nodes.setdefault(
                spec.name, NamespaceNode(spec, self, cgroups.of_node(self._entry.lab_id, spec.name))
            )
            node.power_on(started[spec], inits[spec])

    def _start_node(self, spec: NodeSpec) -> subprocess.Popen[bytes]:
        dirs = cgroups.make(self._entry.lab_id, spec.name)
        own = ["--cgroup"] if dirs else []
        python = [sys.executable, "-I", "-S", str(HERE / "node_init.py")]
        script = [*python, spec.name, address_of(spec), self._lab.data_dir, *dirs]
        argv = [*enter(self.init), *join(dirs), "unshare", *NEW, *own, "--mount-proc", *script]
        return self.spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def _plug_in(self, inits: Mapping[NodeSpec, int]) -> None:
        """Give every node its end of a veth pair; the other end is a port of the lab's bridge."""
        lines = []
        for spec, init in inits.items():
            lines += [
                f"link add {spec.name} type veth peer name {INTERFACE} address {card_of(spec)} netns {init}",
                f"link set {spec.name} master {BRIDGE} up",
            ]
        self.ip(*lines)

    @property
    def init(self) -> int:
        """The lab's init, as this host sees it."""
        if self._entry.init is None:
            raise MachineError("the lab's init is not up")
        return self._entry.init


def capabilities() -> frozenset[Capability]:
    """What can be done to nodes on this host; not to their clocks: CLOCK_REALTIME has no namespace."""
    found = {Capability.CRASH}
    if checks.firewall().well:
        found.add(Capability.FIREWALL)
    if checks.netem().well or checks.packets().well:
        found.add(Capability.LINK)
    return frozenset(found)
