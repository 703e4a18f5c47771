"""The bench of CSI rules: one node with a pool and no agent, the plugin on it, and the volumes of a rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stormpool import pools
from stormpool.conform.csi import life
from stormpool.conform.csi.plugin import Plugin, Refused
from stormpool.conform.csi.volume import Volume
from stormpool.conform.rule import Broken, NotOffered
from stormpool.errors import MachineError, TimedOut
from stormpool.lab import CsiPlugin, Lab, Role
from stormpool.node import Node, Nodes, Provider
from stormpool.wait import wait_until

POOL_MIB = 512  # of the node's own pool
OBSERVER = Path(__file__).parents[2] / "observe.py"


@dataclass(frozen=True)
class Asked:
    """What plugin is to be judged, and with which volumes."""

    plugin: CsiPlugin
    size: int = 64 << 20  # bytes of each volume
    secrets: Mapping[str, str] = field(default_factory=dict)  # given with every call that takes any
    patience: float = 10.0  # seconds for which a call is repeated until it is OK, or a leftover looked for


@contextmanager
def nodes_up(provider: Provider, lab_id: str, directory: Path, count: int = 1) -> Iterator[Nodes]:
    """A lab without agents, with so many nodes that have a pool, `client1` and on. It is gone on leaving."""
    lab = Lab(servers=1, clients=count)
    nodes = provider.up(lab, lab_id, directory)
    try:
        for name in lab.names(Role.CLIENT):
            pools.start(nodes.nodes[name], POOL_MIB, directory / f"{name}-zfs.log")
        yield nodes
    finally:
        nodes.down()


@contextmanager
def set_up(nodes: Nodes, asked: Asked, logs: Path, node: str = "client1") -> Iterator[Bench]:
    """A bench with the plugin serving on a node; on leaving the node is as it was."""
    bench = Bench(nodes, nodes.nodes[node], asked, logs)
    try:
        bench.start()
        yield bench
    finally:
        bench.close()


class Bench:
    """One plugin on one node."""

    directory = "/run/conform"  # where volumes are staged and published

    def __init__(self, nodes: Nodes, node: Node, asked: Asked, logs: Path) -> None:
        self.node = node
        self.python = nodes.python
        self.plugin = Plugin(asked.plugin, self.node, nodes, logs)
        self.parameters, self.size, self.secrets = asked.plugin.parameters, asked.size, asked.secrets
        self.patience = asked.patience
        self.capability = self._capability()
        self.up: tuple[str, ...] = ()  # the calls that bring a volume of this plugin up
        self.lists = False  # whether it lists its volumes
        self.node_id = ""
        self.holds = 0  # how many volumes the node takes; 0: it does not say
        self.ruined = False  # the plugin cannot be started any more
        self._keeps_files: bool | None = None
        self._volumes: list[Volume] = []
        self._usual = self.mounts()

    def start(self) -> None:
        """Start the plugin, and ask what it can do."""
        self.plugin.start()
        controller = self._capabilities("Controller")
        node = self._capabilities("Node")
        offered = (controller or frozenset()) | (node or frozenset()) | {""}
        self.up = tuple(
            method
            for method, capability in life.CAPABILITY.items()
            if capability in offered and (node is not None or not method.startswith("Node"))
        )
        self.lists = "LIST_VOLUMES" in offered
        if node is not None:
            said = self.plugin.call("NodeGetInfo", self.plugin.pb.NodeGetInfoRequest())
            self.node_id, self.holds = said.node_id, said.max_volumes_per_node

    def close(self) -> None:
        """End the plugin, and undo what was left."""
        with suppress(Refused, MachineError):
            self.tidy()
        self.plugin.stop()
        self._unmount()

    def needs(self, *methods: str) -> None:
        """Raise `NotOffered` where the plugin has not said that it can do one of these."""
        for method in methods:
            if life.done_by(method) not in self.up:
                raise NotOffered(
                    f"{life.CAPABILITY[life.done_by(method)] or 'a node service'} is not offered"
                )

    def needs_room(self, volumes: int) -> None:
        """Raise `NotOffered` where the node does not take so many volumes."""
        if 0 < self.holds < volumes:
            raise NotOffered(f"the node takes {self.holds} volumes, not {volumes}")

    def needs_files(self) -> None:
        """Raise `MachineError` where the plugin's volumes do not keep files, with nothing gone wrong."""
        if not self.keeps_files:
            raise MachineError("its volumes keep no files: see the rule *files are kept*")

    @property
    def keeps_files(self) -> bool:
        """Whether the plugin's volumes keep files as long as nothing goes wrong."""
        if self._keeps_files is None:
            try:
                self.volume().must_keep_files("written to find out")
                self._keeps_files = True
            except (Broken, Refused):
                self._keeps_files = False
        return self._keeps_files

    def volume(self) -> Volume:
        """A new volume, not made yet. Raises `NotOffered` where the plugin makes none."""
        self.needs("CreateVolume")
        self._volumes.append(Volume(self))
        return self._volumes[-1]

    def mounts(self) -> list[str]:
        """Every mount point of the node, as often as something is mounted there, by the kernel's word."""
        said = self.node.run(["findmnt", "--json", "--list", "--output", "TARGET"]).stdout
        return [str(each["target"]) for each in json.loads(said)["filesystems"]]

    def processes(self) -> dict[int, str]:
        """Every process of the node but the observer: its argv by its pid."""
        said = self.node.run([self.python, "-I", "-S", str(OBSERVER)]).stdout
        return {each["pid"]: each["argv"] for each in json.loads(said)["processes"]}

    def listed(self) -> Counter[str]:
        """How often the plugin lists each volume; nothing where it lists none."""
        found, token = Counter[str](), ""
        while self.lists:
            answer = self.plugin.call("ListVolumes", self.plugin.pb.ListVolumesRequest(starting_token=token))
            found.update(entry.volume.volume_id for entry in answer.entries)
            token = answer.next_token
            if not token:
                break
        return found

    def must_be_bare(self) -> None:
        """Raise `Broken` when something is mounted that was not before the first volume was made."""
        try:
            wait_until("no mount is left", self._left, lambda left: not left, timeout=self.patience)
        except TimedOut:
            raise Broken(f"still mounted once all was undone: {', '.join(self._left())}") from None

    def tidy(self) -> list[str]:
        """Undo what a rule left; say what it was."""
        left = self._revived()
        left += [said for volume in self._volumes for said in self._undo(volume)]
        self._volumes.clear()
        left += [f"mount {point}" for point in self._unmount()]
        self.node.run(["rm", "-rf", "--one-file-system", self.directory])
        return left

    def _revived(self) -> list[str]:
        """Start the plugin where it ended; say so where that cannot be done."""
        if self.plugin.lives:
            return []
        self.plugin.stop()
        try:
            self.plugin.start()
        except MachineError as error:
            self.ruined = True
            self._volumes.clear()
            return [f"a plugin that cannot be started any more ({error})"]
        return []

    def _undo(self, volume: Volume) -> list[str]:
        """Undo a volume by calls; say what could not be."""
        left = []
        for done in reversed(self.up[: volume.done]):
            try:
                volume.go(life.UNDONE_BY[done])
            except Refused as refused:
                left.append(f"volume {volume.name} ({refused})")
        return left

    def _unmount(self) -> list[str]:
        """Unmount what was not mounted at first; say what it was."""
        left = self._left()
        for point in reversed(left):
            self.node.run(["umount", "--lazy", point], check=False)
        return left

    def _left(self) -> list[str]:
        return list((Counter(self.mounts()) - Counter(self._usual)).elements())

    def _capabilities(self, service: str) -> frozenset[str] | None:
        """What a service says it can do; None where it is not served."""
        method = f"{service}GetCapabilities"
        try:
            answer = self.plugin.call(method, getattr(self.plugin.pb, f"{method}Request")())
        except Refused as refused:
            if refused.code == "UNIMPLEMENTED":
                return None
            raise
        kinds = getattr(self.plugin.pb, f"{service}ServiceCapability").RPC.Type
        names = {number: name for name, number in kinds.items()}
        return frozenset(names.get(each.rpc.type, "") for each in answer.capabilities)

    def _capability(self) -> Any:
        """A file system for one node."""
        pb = self.plugin.pb
        mode = pb.VolumeCapability.AccessMode(mode=pb.VolumeCapability.AccessMode.SINGLE_NODE_WRITER)
        return pb.VolumeCapability(mount=pb.VolumeCapability.MountVolume(), access_mode=mode)
