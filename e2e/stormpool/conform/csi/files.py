"""The files of a volume: what a task would find where the volume is published."""

from __future__ import annotations

from stormpool.conform.csi.bench import Bench
from stormpool.conform.rule import rule


@rule(source="NodePublishVolume: the mounted directory at target_path (SHALL); Volume Lifecycle")
def files_are_kept(bench: Bench) -> None:
    """A volume that is published can be written to, and has its file when it is brought down and up again."""
    bench.needs("NodePublishVolume")
    bench.volume().must_keep_files("written by the first task")
    bench.must_be_bare()


RULES = (files_are_kept,)
