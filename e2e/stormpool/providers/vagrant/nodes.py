"""The machines of one lab, from their boot to their end."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stormpool import ledger
from stormpool.capability import Capability
from stormpool.errors import MachineError
from stormpool.lab import Lab
from stormpool.node import Bringing
from stormpool.providers.addresses import address_of
from stormpool.providers.stream import PipedStream
from stormpool.providers.vagrant import machines, payload
from stormpool.providers.vagrant.links import VagrantLinks
from stormpool.providers.vagrant.machines import Machines
from stormpool.providers.vagrant.nest import HOME, Nest
from stormpool.providers.vagrant.node import DISKS, Standing, VagrantNode
from stormpool.providers.vagrant.way import Way
from stormpool.sockets import ShortPaths
from stormpool.wait import wait_until

# How many times as long things take on an emulated machine: a task's start 7, a look at a node 5.
EMULATED = 5.0
# What machines share in the place of a directory: the reference CSI plugin's cloud, served where they get in.
CLOUD = "zfs_csi.served_cloud"
GATEWAY = "192.168.177.1"  # of the way in (vagrant/Vagrantfile)
CLOUD_PORT = 7070
MEMORY = 768  # MiB a machine
PANICS_WITHIN = 30.0  # seconds; 1 on an emulated machine
CAPABILITIES = frozenset(Capability) - {Capability.AGENTS}  # all there is, and agents are the lab's


class VagrantNodes:
    """The machines of one lab that is up."""

    python = sys.executable
    door = "/lab/door"
    cloud = f"http://{GATEWAY}:{CLOUD_PORT}"
    has_cgroups = True

    def __init__(self, lab: Lab, bringing: Bringing) -> None:
        self._lab = lab
        self._bringing = bringing
        self._entry = ledger.Entry(bringing.lab_id, bringing.run_dir)
        self._told = bringing.told
        self.pace = 1.0
        self._nodes: dict[str, VagrantNode] = {}
        self._nest: Nest | None = None
        self._machines: Machines | None = None
        self._sockets: ShortPaths | None = None
        self._standing: dict[str, Standing] = {}
        self.links = VagrantLinks(self)

    @property
    def nodes(self) -> Mapping[str, VagrantNode]:
        """Every node, by name."""
        return self._nodes

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What can be done to them."""
        return CAPABILITIES

    @property
    def nest(self) -> Nest:
        """The lab's namespaces."""
        assert self._nest is not None
        return self._nest

    @property
    def door_here(self) -> Path:
        """The directory on this host whose sockets machines can be led to, and from."""
        return self.nest.home / "door"

    @property
    def sockets(self) -> ShortPaths:
        """Short paths to what is in it."""
        assert self._sockets is not None
        return self._sockets

    def up(self) -> None:
        """Bring everything up, or leave nothing and raise."""
        try:
            self._up()
        except BaseException:
            self.down()
            raise

    def _up(self) -> None:
        box = machines.build_box(self._told)
        runs_under = machines.accelerator(self._told)
        self.pace = EMULATED if runs_under == "qemu" else 1.0
        self._entry.write()
        self._nest = Nest()
        self._entry.write(init=self._nest.identity)
        self._sockets = ShortPaths(self.door_here)
        self._told("putting the harness on an image")
        payload.make(self._nest.home / "payload.img", self._lab, self._bringing.programs)
        self._machines = Machines(self._nest, self._asked(runs_under))
        addresses = self._machines.up(box, self._told)
        self._nest.start("cloud", [sys.executable, "-m", CLOUD, f"{HOME}/cloud", GATEWAY, str(CLOUD_PORT)])
        for spec in self._lab.nodes():
            way = Way(self._nest, spec.name, addresses[spec.name])
            self._nodes[spec.name] = VagrantNode(spec, self, way)
        self._machines.each(self._nodes, self._open)

    def _asked(self, runs_under: str) -> dict[str, Any]:
        return {
            "nodes": {spec.name: address_of(spec) for spec in self._lab.nodes()},
            "accelerator": runs_under,
            "memory": MEMORY,
            "disks": dict.fromkeys(DISKS, f"{self._lab.pool_mib}M"),
            "payload": f"{HOME}/payload.img",
            "consoles": f"{HOME}/consoles",
        }

    def _open(self, name: str) -> None:
        node = self._nodes[name]
        node.open()
        node.run(payload.place(self._lab.data_dir))

    def lead_in(self, name: str) -> None:
        """Have a socket in `sockets` be at `door` on every node."""
        for node in self._nodes.values():
            node.way.lead_in(f"{self.door}/{name}", str(self.door_here / name))

    def crash(self, name: str, *, panic: bool = False) -> None:
        """Cut a node's power, or have its kernel panic first: what was in its memory is gone. Idempotent."""
        node = self._nodes[name]
        if not node.up:
            return
        panicking = self._panic(node) if panic else None
        self._there.cut_power(name)
        node.close()
        if panicking is not None:
            panicking.stop()

    def _panic(self, node: VagrantNode) -> PipedStream:
        """Have a kernel panic; return when its console says so (sysrq, Documentation/admin-guide/sysrq).

        The command that asked for it is never over.
        """
        console = self.nest.home / "consoles" / f"{node.spec.name}.console"
        said = console.stat().st_size
        asked = node.stream(
            ["sh", "-c", "echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger"], print
        )
        wait_until(
            f"the kernel of {node.spec.name} panics",
            lambda: console.read_bytes()[said:],
            lambda new: b"Kernel panic" in new,
            timeout=PANICS_WITHIN,
        )
        return asked

    def boot(self, name: str) -> None:
        """Start a node that has crashed. Idempotent."""
        node = self._nodes[name]
        if node.up:
            return
        try:
            self._there.power_on(name)
            self._open(name)
        except Exception:
            with contextlib.suppress(MachineError):  # it may never have begun
                self._there.cut_power(name)
            node.close()
            raise
        self.links.forget(name)

    def copy(self) -> None:
        """Keep all machines as they are now, for `revert`. Sockets of `door` are cut off meanwhile."""
        self._standing = {name: node.part() for name, node in self._nodes.items()}
        self._there.copy(lambda: _replace(self._settled_cloud, self._cloud))
        self._join()

    def revert(self) -> None:
        """Have all machines as they were at the time of `copy`, with their wall clocks as they are now."""
        for name, node in self._nodes.items():
            if not node.up:
                self._there.power_on(name)
            node.part()
        self._there.set_back(lambda: _replace(self._cloud, self._settled_cloud))
        self._join()
        self.links.forget(*self._nodes)

    @property
    def _cloud(self) -> Path:
        return self.nest.home / "cloud"

    @property
    def _settled_cloud(self) -> Path:
        return self.nest.home / "cloud.settled"

    def _join(self) -> None:
        self._there.each(self._nodes, lambda name: self._nodes[name].join(self._standing[name]))

    @property
    def _there(self) -> Machines:
        assert self._machines is not None
        return self._machines

    def down(self) -> None:
        """End every machine, and undo all the lab made; idempotent."""
        for node in self._nodes.values():
            node.close()
        if self._sockets is not None:
            self._sockets.close()
            self._sockets = None
        if self._nest is not None:
            with contextlib.suppress(OSError):  # what cannot be kept is no reason to leave the lab up
                self._keep_logs(self._nest)
            self._nest.end()
        self._entry.undo()

    def _keep_logs(self, nest: Nest) -> None:
        """Keep what the consoles, vagrant and others of the lab's own have said: it goes with its memory."""
        kept = self._bringing.run_dir / "logs"
        kept.mkdir(exist_ok=True)
        for log in (*nest.home.glob("*.log"), *nest.home.glob("consoles/*")):
            shutil.copy(log, kept)

    def keep(self, nomad: str, addresses: Mapping[str, str]) -> ledger.Written:
        """Write down how to get at the nodes, for other processes to find; return all that is written."""
        ways = {name: node.way.enter for name, node in self._nodes.items() if node.up}
        self._entry.write(kept=True, nomad=nomad, nodes=ways, by_line=True, addresses=dict(addresses))
        return self._entry.written

    def left_behind(self) -> list[str]:
        """What this host still shows of the lab."""
        return self._entry.left_behind()


def _replace(directory: Path, by: Path) -> None:
    """Have a directory be a copy of another."""
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(by, directory)
