"""Undoing what was never done, or is gone: nothing is there to undo, and nothing fails."""

from __future__ import annotations

from stormpool.conform.csi import life
from stormpool.conform.csi.bench import Bench
from stormpool.conform.csi.plugin import Refused
from stormpool.conform.csi.volume import Volume
from stormpool.conform.rule import Broken, Rule, rule

# What the specification says of each where nothing was done.
WHY = {
    "NodeUnpublishVolume": "NodePublishVolume: a CO that does not know whether it failed may undo it",
    "NodeUnstageVolume": "NodeUnstageVolume: what is not staged (MUST)",
    "ControllerUnpublishVolume": "ControllerUnpublishVolume: what is not attached (MUST)",
}


def never_done(method: str) -> Rule[Bench]:
    """A call that undoes, for a volume with which nothing of the kind was done."""

    @rule(source=WHY[method], of=method)
    def undone_though_never_done(bench: Bench) -> None:
        """What was never done is undone with OK, by a plugin that was killed meanwhile too."""
        bench.needs(method)
        volume = bench.volume()
        volume.to(life.after(method, bench.up))
        _undo(bench, volume, method, ("OK",))
        bench.plugin.come_back()
        _undo(bench, volume, method, ("OK",), "killed and started again, ")
        volume.fall(f"{method} was called for nothing")
        bench.must_be_bare()

    return undone_though_never_done


def gone(method: str) -> Rule[Bench]:
    """A call that undoes, for a volume that is deleted."""

    @rule(source=f"{method} Errors: NOT_FOUND; {method}: idempotent (MUST)", of=method)
    def undone_though_deleted(bench: Bench) -> None:
        """For a volume that was deleted it is undone, or the volume not found; a crash changes nothing."""
        bench.needs(method)
        volume = bench.deleted_volume()
        _undo(bench, volume, method, ("OK", "NOT_FOUND"))
        bench.plugin.come_back()
        _undo(bench, volume, method, ("OK", "NOT_FOUND"), "killed and started again, ")

    return undone_though_deleted


def _undo(bench: Bench, volume: Volume, method: str, fine: tuple[str, ...], after: str = "") -> None:
    try:
        bench.plugin.call(method, volume.request(method))
    except Refused as refused:
        if refused.code not in fine:
            raise Broken(f"{after}{refused}; to be answered is {' or '.join(fine)}") from refused


RULES = (*map(never_done, WHY), *map(gone, WHY))
