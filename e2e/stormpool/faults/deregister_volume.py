"""A volume that the servers forget."""

from __future__ import annotations

import json
from pathlib import Path

from stormpool.capability import Capability
from stormpool.faults.fault import Fault
from stormpool.scene import Scene

# What of a volume's record is what was asked for; the rest is the servers' own.
ASKED = (
    "ID",
    "Name",
    "ExternalID",
    "Namespace",
    "PluginID",
    "RequestedCapabilities",
    "RequestedCapacityMin",
    "RequestedCapacityMax",
    "MountOptions",
    "Parameters",
    "Context",
    "RequestedTopologies",
    "Topologies",
    "Capacity",
)


class DeregisterVolume(Fault, frozen=True):
    """A volume is taken out of the servers' books, as by `nomad volume deregister`; its storage stays.

    The servers refuse while an allocation claims it, and injecting it fails; with `force` only while one
    lives. Healed by registering it with what it had: that is in the run's directory meanwhile, but for
    secrets, which the API does not tell.
    """

    needs = frozenset({Capability.AGENTS})

    volume: str
    force: bool = False

    def inject(self, scene: Scene) -> str:
        """Deregister it, and keep what it had."""
        had = scene.cluster.ask(f"volume/csi/{self.volume}")
        scene.aim_at(self.volume)  # one that is not there is another's to bring back
        force = {"force": "true"} if self.force else {}
        self._kept(scene).write_text(json.dumps({key: had[key] for key in ASKED if had.get(key) is not None}))
        scene.cluster.api().delete(f"volume/csi/{self.volume}", **force)
        return self.volume

    def heal(self, scene: Scene) -> None:
        """Register it, unless somebody has."""
        kept = self._kept(scene)
        if self.volume in scene.hit and kept.exists():
            if scene.cluster.api().find(f"volume/csi/{self.volume}") is None:
                had = json.loads(kept.read_text())
                scene.cluster.api().put(f"volume/csi/{self.volume}", {"Volumes": [had]})
            kept.unlink()

    def _kept(self, scene: Scene) -> Path:
        return scene.cluster.turn.directory.path / f"deregistered-{self.volume}.json"
