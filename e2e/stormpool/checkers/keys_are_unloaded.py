"""The key of a volume is not on a node where the volume is not in use (CSI spec, NodeUnstageVolume)."""

from __future__ import annotations

from stormpool.events import Key
from stormpool.history import History
from stormpool.verdict import Verdict, Witness, guarantee, seconds


@guarantee("keys are unloaded")
def keys_are_unloaded(history: History) -> Verdict:
    """Once nobody uses an encrypted volume its key is loaded on no node.

    By ZFS's own word, at each look that was taken for it when all had settled.
    """
    looks = history.of(Key)
    witnesses = [
        Witness(f"the key of {each.volume} was loaded at {seconds(each.t)}", each.t, each.t, [each.node])
        for each in looks
        if each.loaded
    ]
    return keys_are_unloaded.found(len(looks), witnesses, nothing="no key of a volume was looked at")
