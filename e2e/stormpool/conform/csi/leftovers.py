"""What volumes leave behind on a node once they are gone."""

from __future__ import annotations

from stormpool.conform.csi.bench import Bench
from stormpool.conform.rule import Broken, rule
from stormpool.errors import TimedOut
from stormpool.wait import wait_until

LIVES = 3  # what each leaves adds up


@rule(source="NodeUnstageVolume, NodeUnpublishVolume: undo the work of their counterparts (MUST)")
def nothing_is_left(bench: Bench) -> None:
    """Once volumes are gone no mount and no process is on the node that was not there before."""
    bench.needs("NodePublishVolume")
    bench.deleted_volume()  # what a plugin starts once, for all volumes, is no leftover
    before = bench.processes()
    for _ in range(LIVES):
        bench.deleted_volume()
    bench.must_be_bare()
    try:
        wait_until("none is left", lambda: _new(bench, before), _nothing, timeout=bench.asked.patience)
    except TimedOut:
        left = _new(bench, before)
        raise Broken(f"{len(left)} processes after {LIVES} volumes: {', '.join(left)}") from None


def _nothing(new: list[str]) -> bool:
    return not new


def _new(bench: Bench, before: dict[int, str]) -> list[str]:
    return [argv for pid, argv in bench.processes().items() if pid not in before]


RULES = (nothing_is_left,)
