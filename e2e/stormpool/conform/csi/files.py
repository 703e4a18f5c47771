"""The files of a volume: what a task would find where the volume is published."""

from __future__ import annotations

from stormpool.conform.csi.bench import Bench
from stormpool.conform.rule import Broken, rule
from stormpool.errors import CommandFailed

TEXT = "written by the first task"


@rule(source="NodePublishVolume: the mounted directory at target_path (SHALL); Volume Lifecycle")
def files_are_kept(bench: Bench) -> None:
    """A volume that is published can be written to, and has its file when it is brought down and up again."""
    bench.needs("NodePublishVolume")
    volume = bench.volume()
    volume.up()
    try:
        volume.write(TEXT)
    except CommandFailed as failed:
        raise Broken(
            f"published with OK, and nothing can be written there: {failed.stderr.strip()}"
        ) from failed
    volume.must_hold(TEXT, "once it was written")
    volume.to(1)
    volume.up()
    volume.must_hold(TEXT, "brought down and up again")
    volume.to(0)
    bench.must_be_bare()


RULES = (files_are_kept,)
