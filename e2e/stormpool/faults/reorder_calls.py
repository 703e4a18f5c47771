"""Two calls that change places."""

from __future__ import annotations

from stormpool import nemesis
from stormpool.faults.wait_for import WaitFor
from stormpool.nemesis import Matching, Plan


def reorder_calls(first: Matching, at_most: float = 10.0) -> Plan:
    """The plugin gets a call only once it has answered the next one that matches, `rpc(M).nth(3)` after the
    4th.

    The two must be under way at once: when no other comes within `at_most` seconds, the first goes on and the
    fault is told of as failed.
    """
    second = first.nth(first.count + 1)
    return nemesis.on(first.before, WaitFor(second.answered, at_most))
