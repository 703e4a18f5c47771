"""Carries a plan out: injects each fault at its moment, heals it, and writes both into the history."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from stormpool import history
from stormpool.errors import MachineError, StormpoolError
from stormpool.faults.fault import Fault
from stormpool.nemesis import AtTime, Counting, OnCall, Phase, Plan, Planned
from stormpool.scene import Scene

if TYPE_CHECKING:
    from stormpool.cluster import Cluster
    from stormpool.tap.collector import Collector, HeldCall

AT_ONCE = 32  # faults that may be under way


class Reached:
    """Which points the calls of a run have come to, for faults that wait for one."""

    def __init__(self) -> None:
        self._points: set[OnCall] = set()
        self._changed = threading.Condition()
        self._over = False

    def add(self, points: Iterable[OnCall]) -> None:
        """Calls have come to these."""
        with self._changed:
            self._points.update(points)
            self._changed.notify_all()

    def wait(self, point: OnCall, at_most: float) -> None:
        """Return once a call has come to a point.

        Raises `MachineError` after so many seconds, and when no call stops any more.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._over or point in self._points, at_most)
            if point not in self._points:
                raise MachineError(f"no call came to {point} within {at_most:g} s")

    def end(self) -> None:
        """No call stops any more."""
        with self._changed:
            self._over = True
            self._changed.notify_all()


class Conductor:
    """One plan on one cluster."""

    def __init__(self, plan: Plan, cluster: Cluster, collector: Collector | None) -> None:
        self._plan = plan
        self._cluster = cluster
        self._collector = collector
        self._counting = Counting(plan, cluster.recorder.now())
        self._reached = Reached()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fault")
        self._during: dict[str, Future[None]] = {}  # call → what must be done before its answer goes on
        self._injected: dict[int, Scene] = {}

    def start(self) -> None:
        """Begin: calls stop where the plan says, and times count from now."""
        for number, planned in enumerate(self._plan.planned):
            self._note(number, "planned")
            if isinstance(planned.when, AtTime):
                self._threads.submit(self._at, number, planned.when.seconds)
        methods = self._plan.methods()
        if methods and self._collector is not None:
            self._collector.hold(methods, self._held)

    def heal(self) -> None:
        """Heal everything; no fault is injected any more, and no call stops."""
        with self._lock:
            self._over.set()
        self._reached.end()
        self._threads.shutdown()  # what is being injected is injected, and then healed
        for number in list(self._injected):
            self._heal(number)
        if self._plan.methods() and self._collector is not None:
            self._collector.hold((), self._held)

    def _held(self, held: HeldCall) -> None:
        """A call has stopped: let it go on, at once or when its faults are injected."""
        with self._lock:
            if self._over.is_set():
                held.go_on()
            elif held.reply is not None:
                self._answered(held)
            else:
                self._asked(held)

    def _asked(self, held: HeldCall) -> None:
        self._counting.count(held.call)
        self._reached.add(self._counting.points(held.call, Phase.BEFORE))
        before = self._counting.faults(held.call, Phase.BEFORE)
        during = self._counting.faults(held.call, Phase.DURING)
        if before:
            self._threads.submit(self._inject_all, before, held)
        else:
            self._go_on(held)
        if during:
            self._during[held.call.id] = self._threads.submit(self._inject_each, during, held)

    def _answered(self, held: HeldCall) -> None:
        self._reached.add(self._counting.points(held.call, Phase.AFTER))
        after = self._counting.faults(held.call, Phase.AFTER)
        during = self._during.pop(held.call.id, None)
        if after:
            self._threads.submit(self._inject_all, after, held)
        elif during is not None:
            during.add_done_callback(lambda _: held.go_on())
        else:
            held.go_on()

    def _go_on(self, held: HeldCall) -> None:
        """Let the plugin have a call."""
        held.go_on()
        self._reached.add(self._counting.points(held.call, Phase.DURING))

    def _inject_all(self, numbers: Sequence[int], held: HeldCall) -> None:
        """Inject what is due at this point of a call, then let it go on unless a fault keeps it."""
        self._inject_each(numbers, held)
        if any(self._plan.planned[number].fault.holds_its_call for number in numbers):
            return
        if held.reply is None:
            self._go_on(held)
        else:
            held.go_on()

    def _inject_each(self, numbers: Sequence[int], held: HeldCall) -> None:
        for number in numbers:
            self._inject(number, held)

    def _at(self, number: int, seconds: float) -> None:
        if not self._over.wait(seconds):
            self._inject(number, None)

    def _inject(self, number: int, held: HeldCall | None) -> None:
        planned, scene = self._plan.planned[number], Scene(self._cluster, held, self._reached)
        try:
            subject = planned.fault.inject(scene)
        except (StormpoolError, OSError, StopIteration) as error:
            self._note(number, "failed", held=held, why=str(error) or type(error).__name__)
            return
        self._injected[number] = scene
        self._note(number, "injected", subject, held)
        if type(planned.fault).heal is Fault.heal:  # nothing is left to mend
            self._heal(number)
            return
        with self._lock:
            if planned.heal_after is not None and not self._over.is_set():
                self._threads.submit(self._later, number, planned)

    def _later(self, number: int, planned: Planned) -> None:
        if not self._over.wait(planned.heal_after):
            self._heal(number)

    def _heal(self, number: int) -> None:
        scene = self._injected.pop(number, None)
        if scene is None:
            return
        try:
            self._plan.planned[number].fault.heal(scene)
        except (StormpoolError, OSError) as error:
            self._note(number, "failed", held=scene.held, why=f"healing: {error}")
        else:
            self._note(number, "healed", held=scene.held)

    def _note(
        self, number: int, step: str, subject: str = "", held: HeldCall | None = None, why: str = ""
    ) -> None:
        planned = self._plan.planned[number]
        phase = getattr(planned.when, "phase", "")
        self._cluster.recorder.write(
            history.Fault(
                self._cluster.recorder.now(),
                number,
                type(planned.fault).__name__,
                step,
                subject,
                held.call.id if held else "",
                str(phase),
                why,
            )
        )
