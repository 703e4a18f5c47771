"""A request that is lost on its way."""

from __future__ import annotations

from stormpool.faults.call_fault import CallFault
from stormpool.nemesis import Phase
from stormpool.scene import Scene


class DropRequest(CallFault, frozen=True):
    """The plugin never gets the request, and the caller waits (at *before*).

    It waits for as long as it cares to: Nomad's calls to a plugin's node part have no deadline. Healed by
    ending the call without an answer (RST_STREAM), unless its caller has.
    """

    phases = (Phase.BEFORE,)

    holds_its_call = True

    def inject(self, scene: Scene) -> str:
        """Leave it where it is."""
        return scene.call().call.id

    def heal(self, scene: Scene) -> None:
        """End it; the plugin has not had it."""
        scene.call().lose()
