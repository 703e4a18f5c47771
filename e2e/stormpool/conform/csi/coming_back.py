"""What becomes of the plugin itself when it is killed."""

from __future__ import annotations

from stormpool.conform.csi.bench import Bench
from stormpool.conform.rule import Broken, rule
from stormpool.errors import MachineError


@rule(source="Plugin Bootstrap Example: the plugin creates its socket (whoever starts it again removes none)")
def comes_back(bench: Bench) -> None:
    """A plugin that was killed serves again when it is started, though its socket is still there."""
    try:
        bench.plugin.start_again()
    except MachineError as error:
        raise Broken(f"killed and started again, its socket being there: {error}") from error


RULES = (comes_back,)
