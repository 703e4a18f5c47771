"""The one way to wait: until a predicate over a snapshot holds, with a bound; nothing sleeps elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

import tenacity

from stormpool.errors import TimedOut

S = TypeVar("S")
log = logging.getLogger(__name__)


def wait_until(
    what: str,
    snapshot: Callable[[], S],
    holds: Callable[[S], bool] = bool,
    *,
    timeout: float,
    every: float = 0.05,
    ignoring: tuple[type[Exception], ...] = (),
) -> S:
    """Take snapshots until one `holds`, and return that one.

    `timeout` and `every` are in seconds. Only changes of the snapshot are logged. An exception named in
    `ignoring` counts as a snapshot that does not hold. Raises `TimedOut` with the last snapshot.
    """
    last: object = None

    def attempt() -> S:
        nonlocal last
        seen = snapshot()
        if seen != last:
            log.debug("waiting until %s: %s", what, seen)
            last = seen
        if not holds(seen):
            raise _NotYet
        return seen

    def note(state: tenacity.RetryCallState) -> None:
        nonlocal last
        error = state.outcome.exception() if state.outcome else None
        if error is not None and not isinstance(error, _NotYet):
            last = error

    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type((_NotYet, *ignoring)),
        wait=tenacity.wait_fixed(every),
        stop=tenacity.stop_after_delay(timeout),
        after=note,
    )
    try:
        return retrying(attempt)
    except tenacity.RetryError:
        raise TimedOut(f"{what}: not within {timeout:g} s; last seen: {_brief(last)}") from None


class _NotYet(Exception):
    """The snapshot does not hold yet."""


def _brief(snapshot: object, most: int = 600) -> str:
    text = f"{type(snapshot).__name__}: {snapshot}" if isinstance(snapshot, Exception) else repr(snapshot)
    return text if len(text) <= most else text[:most] + "…"
