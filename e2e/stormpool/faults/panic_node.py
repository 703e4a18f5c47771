"""A node whose kernel panics."""

from __future__ import annotations

from stormpool.capability import Capability
from stormpool.faults.crash_node import CrashNode


class PanicNode(CrashNode, frozen=True):
    """A node's kernel panics (sysrq), and the node stays as it is then, silent, until its power is cut.

    Its disk stays. Healed by booting it: its pool is imported, its agent started with the data it had.
    """

    needs = frozenset({Capability.PANIC, Capability.AGENTS})
    panics = True
