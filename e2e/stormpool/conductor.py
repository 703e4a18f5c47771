"""Carries a plan out: injects each fault at its moment, heals it, and writes both into the history."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from stormpool.errors import StormpoolError
from stormpool.history import Fault
from stormpool.nemesis import AtTime, Counting, Phase, Plan, Planned
from stormpool.scene import Scene

if TYPE_CHECKING:
    from stormpool.cluster import Cluster
    from stormpool.tap.collector import Collector, HeldCall

AT_ONCE = 32  # faults that may be under way


class Conductor:
    """One plan on one cluster."""

    def __init__(self, plan: Plan, cluster: Cluster, collector: Collector | None) -> None:
        self._plan = plan
        self._cluster = cluster
        self._collector = collector
        self._counting = Counting(plan)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fault")
        self._during: dict[str, Future[None]] = {}  # call → what must be done before its answer goes on
        self._injected: dict[int, Scene] = {}
        self._timed: list[Future[None]] = []

    def start(self) -> None:
        """Begin: calls stop where the plan says, and times count from now."""
        for number, planned in enumerate(self._plan.planned):
            self._note(number, "planned")
            if isinstance(planned.when, AtTime):
                self._timed.append(self._threads.submit(self._at, number, planned.when.seconds))
        methods = self._plan.methods()
        if methods and self._collector is not None:
            self._collector.hold(methods, self._held)

    def heal(self) -> None:
        """Heal everything; no fault is injected any more, and no call stops."""
        self._over.set()
        for waiting in self._timed:
            waiting.result()
        for number in list(self._injected):
            self._heal(number)
        if self._plan.methods() and self._collector is not None:
            self._collector.hold((), self._held)
        self._threads.shutdown()

    def _held(self, held: HeldCall) -> None:
        """A call has stopped: let it go on, at once or when its faults are injected."""
        if self._over.is_set():
            held.go_on()
            return
        with self._lock:
            if held.reply is not None:
                self._answered(held)
                return
            before = self._counting.asked(held.call)
            during = self._counting.of(held.call, Phase.DURING)
        if before:
            self._threads.submit(self._inject_all, before, held)
        else:
            held.go_on()
        if during:
            self._during[held.call.id] = self._threads.submit(self._inject_each, during, held)

    def _answered(self, held: HeldCall) -> None:
        after = self._counting.of(held.call, Phase.AFTER)
        during = self._during.pop(held.call.id, None)
        if after:
            self._threads.submit(self._inject_all, after, held)
        elif during is not None:
            during.add_done_callback(lambda _: held.go_on())
        else:
            held.go_on()

    def _inject_all(self, numbers: Sequence[int], held: HeldCall) -> None:
        """Inject what is due at this point of a call, then let it go on unless a fault keeps it."""
        self._inject_each(numbers, held)
        if not any(self._plan.planned[number].fault.holds_its_call for number in numbers):
            held.go_on()

    def _inject_each(self, numbers: Sequence[int], held: HeldCall) -> None:
        for number in numbers:
            self._inject(number, held)

    def _at(self, number: int, seconds: float) -> None:
        if not self._over.wait(seconds):
            self._inject(number, None)

    def _inject(self, number: int, held: HeldCall | None) -> None:
        planned, scene = self._plan.planned[number], Scene(self._cluster, held)
        try:
            subject = planned.fault.inject(scene)
        except (StormpoolError, OSError, StopIteration) as error:
            self._note(number, "failed", held=held, why=str(error) or type(error).__name__)
            return
        self._injected[number] = scene
        self._note(number, "injected", subject, held)
        if planned.heal_after is not None:
            self._timed.append(self._threads.submit(self._later, number, planned))

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
            Fault(
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
