"""What the servers know of devices that come and go (seed 000; nomad, client/client.go)."""

from __future__ import annotations

from collections.abc import Iterator

from stormpool.events import SECOND, DeviceView, Fault
from stormpool.history import NEVER, History
from stormpool.verdict import Verdict, Witness, guarantee, seconds

# A client tells of a change 5 to 10 s later (`nodeUpdateRetryIntv`); the plugin looks once a second, and the
# servers take a moment to write it down.
WITHIN = 15 * SECOND
TAKES_AWAY = ("BreakPlugin", "ExportPool")  # faults after which a node's devices are none, or not healthy


@guarantee("the scheduler learns of devices")
def device_news(history: History) -> Verdict:
    """The servers learn within 15 s that a node's devices are gone or ill, and as soon that they are back.

    From when the node's pool, or its plugin, was taken away, and given back, to when the servers hold no
    instance of that node for healthy, and hold one for it again. Times too short to tell are not judged.
    """
    views = history.of(DeviceView)
    last = max((event.t for event in history.events), default=0)
    witnesses, judged = [], 0
    for node, gone, back in _away(history):
        for since, until, well in ((gone, back, False), (back, last, True)):
            if until - since < WITHIN:
                continue
            judged += 1
            took = next(
                (view.t - since for view in _of(views, node, since) if view.any_healthy is well), NEVER
            )
            if took > WITHIN:
                what = f"devices of {node} are {'healthy' if well else 'gone or ill'} since {seconds(since)}"
                said = f"after {seconds(took)}" if took < NEVER else "never"
                text = f"{what}, and the servers learnt of it {said}"
                witnesses.append(Witness(text, since, since + WITHIN, [node]))
    return device_news.found(judged, witnesses, nothing="no node lost its devices for long enough")


def _of(views: list[DeviceView], node: str, since: int) -> Iterator[DeviceView]:
    """What the servers held of a node's devices then, and each change after."""
    mine = [view for view in views if view.node == node]
    before = [view for view in mine if view.t <= since]
    if before:
        yield DeviceView(since, node, before[-1].healthy)
    yield from (view for view in mine if view.t > since)


def _away(history: History) -> Iterator[tuple[str, int, int]]:
    """Each time that a node's devices were taken away: which, from when to when."""
    faults = [event for event in history.of(Fault) if event.name in TAKES_AWAY]
    healed = {event.id: event.t for event in faults if event.step == "healed"}
    for event in faults:
        if event.step == "injected":
            yield event.subject, event.t, healed.get(event.id, NEVER)
