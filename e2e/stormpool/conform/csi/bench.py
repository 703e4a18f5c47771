"""The bench of CSI rules: one node with a pool and no agent, the plugin on it, and the volumes of a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from stormpool.conform.csi import life, offers, requests, sights
from stormpool.conform.csi.plugin import Plugin, Refused
from stormpool.conform.csi.volume import Volume
from stormpool.conform.rule import Broken
from stormpool.errors import MachineError, TimedOut
from stormpool.lab import CsiPlugin
from stormpool.node import Node, Nodes
from stormpool.wait import wait_until


@dataclass(frozen=True)
class Asked:
    """What plugin is to be judged, and with which volumes."""

    plugin: CsiPlugin
    size: int = 64 << 20  # bytes of each volume
    secrets: Mapping[str, str] = field(default_factory=dict)  # given with every call that takes any
    patience: float = 10.0  # seconds for which a call is repeated until it is OK, or a leftover looked for


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
        self.node, self.asked = node, asked
        self.plugin = Plugin(asked.plugin, node, nodes, logs)
        self.capability = requests.capability(self.plugin.pb)
        self.offers = offers.NOTHING
        self.keeps_files = False  # whether its volumes keep files as long as nothing goes wrong
        self.ails = ""  # what is refused of a volume's life though nothing goes wrong
        self.ruined = False  # the plugin cannot be started any more
        self._python = nodes.python
        self._volumes: list[Volume] = []
        self._bare = self._usual = self.mounts()

    @property
    def up(self) -> tuple[str, ...]:
        """The calls that bring a volume of this plugin up."""
        return self.offers.up

    def start(self) -> None:
        """Start the plugin, ask what it can do, and have a volume live: what stays is the plugin's own."""
        self.plugin.start()
        self.offers = offers.ask(self.plugin)
        if "CreateVolume" in self.up:
            self._try_out()
        self._usual = [each for each in self.mounts() if not each.startswith(f"{self.directory}/")]

    def close(self) -> None:
        """End the plugin, and undo what was left."""
        with suppress(Refused, MachineError):
            self.tidy()
        self.plugin.stop()
        self._unmount(self._bare)

    def needs(self, *methods: str) -> None:
        """Raise `NotOffered` where the plugin has not said that it can do one of these."""
        for method in methods:
            self.offers.must_have(method)

    def needs_files(self) -> None:
        """Raise `MachineError` where the plugin's volumes do not keep files, with nothing gone wrong."""
        if not self.keeps_files:
            raise MachineError("its volumes keep no files: see the rule *files are kept*")

    def needs_a_life(self) -> None:
        """Raise `MachineError` where a volume cannot be brought up and down, with nothing gone wrong."""
        if self.ails:
            raise MachineError(f"of a volume's life, with nothing gone wrong, {self.ails}")

    def volume(self) -> Volume:
        """A new volume, not made yet. Raises `NotOffered` where the plugin makes none."""
        self.needs("CreateVolume")
        self._volumes.append(Volume(self))
        return self._volumes[-1]

    def deleted_volume(self) -> Volume:
        """A volume that was published, unpublished and deleted: its id is one of the plugin's own."""
        volume = self.volume()
        volume.up()
        volume.to(0)
        return volume

    def mounts(self) -> list[str]:
        """Every mount point of the node, as often as something is mounted there."""
        return sights.mounts(self.node)

    def processes(self) -> dict[int, str]:
        """Every process of the node: its argv by its pid."""
        return sights.processes(self.node, self._python)

    def listed(self) -> Counter[str]:
        """How often the plugin lists each volume; nothing where it lists none."""
        found, token = Counter[str](), ""
        while self.offers.lists:
            answer = self.plugin.call("ListVolumes", self.plugin.pb.ListVolumesRequest(starting_token=token))
            found.update(entry.volume.volume_id for entry in answer.entries)
            token = answer.next_token
            if not token:
                break
        return found

    def must_be_bare(self) -> None:
        """Raise `Broken` when something is mounted that was not before a volume was made."""
        try:
            wait_until("no mount is left", self._left, lambda left: not left, timeout=self.asked.patience)
        except TimedOut:
            raise Broken(f"still mounted once all was undone: {', '.join(self._left())}") from None

    def tidy(self) -> list[str]:
        """Undo what a rule left; say what it was."""
        left = self._revived()
        left += [said for volume in self._volumes for said in self._undo(volume)]
        self._volumes.clear()
        left += [f"mount {point}" for point in self._unmount(self._usual)]
        self.node.run(["rm", "-rf", "--one-file-system", self.directory])
        return left

    def _try_out(self) -> None:
        """Find out whether volumes can be brought up and down, and keep files."""
        volume = self.volume()
        try:
            volume.must_keep_files("written to find out")
            self.keeps_files = True
        except (Broken, Refused) as failed:
            self.ails = str(failed) if isinstance(failed, Refused) else ""
            self._undo(volume)
        self._volumes.clear()

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

    def _unmount(self, usual: Sequence[str]) -> list[str]:
        """Unmount what is not usually mounted; say what it was."""
        left = self._left(usual)
        for point in reversed(left):
            self.node.run(["umount", "--lazy", point], check=False)
        return left

    def _left(self, usual: Sequence[str] | None = None) -> list[str]:
        return list((Counter(self.mounts()) - Counter(self._usual if usual is None else usual)).elements())
