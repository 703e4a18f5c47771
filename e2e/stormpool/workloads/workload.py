"""What clients of a lab do, while faults happen: frozen descriptions, carried out by the runner."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import msgspec

STEP_TIMEOUT = 60.0  # seconds until a consumer runs, and again until its volume is free
AGAIN_AFTER = 1.0  # seconds that a client waits before it tries again
JITTER = 0.05  # seconds at most, by the seed, between two steps of one volume


class Workload(msgspec.Struct, frozen=True, tag=True):
    """Something to do with a cluster."""

    @property
    def steps(self) -> int:
        """How much it does."""
        return 1

    def smaller(self) -> Iterable[Workload]:
        """Workloads that do less of the same, for finding the least that still shows a breach."""
        return ()

    @abstractmethod
    def act(self, cluster: Any, seed: int) -> None:
        """Do it, and write what was done into the history."""
