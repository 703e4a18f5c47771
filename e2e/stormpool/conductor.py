"""Carries a plan out: injects each fault at its moment, heals it, and writes both into the history."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from stormpool import events
from stormpool.errors import MachineError
from stormpool.faults.fault import Fault
from stormpool.nemesis import AtTime, Counting, OnCall, Phase, Plan
from stormpool.scene import Scene

if TYPE_CHECKING:
    from stormpool.site import Site
    from stormpool.tap.collector import Collector, HeldCall

AT_ONCE = 64  # faults that may be under way: most of them are a call that is delayed, or waits


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
    """One plan on one lab. `first`: how many faults the run had planned before; they are numbered on."""

    def __init__(self, plan: Plan, site: Site, collector: Collector | None, first: int = 0) -> None:
        self._plan = plan
        self._site = site
        self._collector = collector
        self._first = first
        self._counting = Counting(plan, site.recorder.now())
        self._reached = Reached()
        self._lock = threading.RLock()
        self._over = False
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fault")
        self._timers: list[threading.Timer] = []
        self._during: dict[str, Future[None]] = {}  # call → what must be done before its answer goes on
        self._standing: dict[Scene, int] = {}  # what may be broken, in the order in which it was, by number
        self._mending: set[Scene] = set()

    def start(self) -> None:
        """Begin: calls stop where the plan says, and times count from now."""
        for number, planned in enumerate(self._plan.planned):
            self._note(number, "planned")
            if isinstance(planned.when, AtTime):
                self._later(planned.when.seconds, self._inject, number, None)
        methods = self._plan.methods()
        if methods and self._collector is not None:
            self._collector.hold(methods, self._held)

    def heal(self) -> None:
        """Heal everything, last first; no fault is injected any more, and no call stops.

        Raises `MachineError` when something stays broken: what a run shows from then on is of no worth.
        """
        with self._lock:
            self._over = True
        for timer in self._timers:
            timer.cancel()
        self._reached.end()
        self._threads.shutdown()  # what is being injected is injected, and then healed
        broken = [why for scene in reversed(list(self._standing)) if (why := self._heal(scene))]
        if self._plan.methods() and self._collector is not None:
            self._collector.hold((), self._held)
        if broken:
            raise MachineError("what was broken could not be mended: " + "; ".join(broken))

    def _held(self, held: HeldCall) -> None:
        """A call has stopped: let it go on, at once or when its faults are injected."""
        with self._lock:
            if self._over:
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
        if not before:
            self._go_on(held)
        if before or during:
            self._during[held.call.id] = self._threads.submit(self._before_and_during, before, during, held)

    def _before_and_during(self, before: Sequence[int], during: Sequence[int], held: HeldCall) -> None:
        if before:
            self._inject_all(before, held)
        self._inject_each(during, held)

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
            when = self._plan.planned[number].when
            if isinstance(when, OnCall) and when.later:
                self._later(when.later, self._inject, number, None)
            else:
                self._inject(number, held)

    def _inject(self, number: int, held: HeldCall | None) -> None:
        """Inject one fault; what it had begun to break when it failed is mended at once."""
        planned, scene = self._plan.planned[number], Scene(self._site, held, self._reached)
        with self._lock:
            self._standing[scene] = number
        began = self._site.recorder.now()  # it breaks things from now on, not once `inject` returns
        try:
            scene.subject = planned.fault.inject(scene)
        except Exception as error:  # a fault may be anybody's, and a call waits for it
            self._note(number, "failed", scene, _why(error))
            self._leave_to_twins(scene)
            self._heal(scene)
            return
        self._note(number, "injected", scene, at=began)
        if not mends(planned.fault):  # nothing is left to mend
            self._heal(scene)
        elif planned.heal_after is not None:
            self._later(planned.heal_after, self._heal, scene)

    def _leave_to_twins(self, scene: Scene) -> None:
        """What another fault of its kind has broken is not mended with one that failed, for there is one."""
        with self._lock:
            own = self._plan.planned[self._standing[scene]].fault
            for twin, number in self._standing.items():
                if twin is scene or twin in self._mending:
                    continue
                if same_kind(self._plan.planned[number].fault, own):
                    scene.hit = [name for name in scene.hit if name not in twin.hit]

    def _later(self, seconds: float, what: Callable[..., object], *about: object) -> None:
        """Do something so many seconds from now, unless all is over then."""
        timer = threading.Timer(seconds, self._submit, (what, *about))
        timer.daemon = True
        with self._lock:
            if self._over:
                return
            self._timers.append(timer)
        timer.start()

    def _submit(self, what: Callable[..., object], *about: object) -> None:
        with self._lock:
            if not self._over:
                self._threads.submit(what, *about)

    def _heal(self, scene: Scene) -> str:
        """Mend one fault, once; return why it stays broken, when it does: it is tried again at the end."""
        with self._lock:
            if scene not in self._standing or scene in self._mending:
                return ""
            self._mending.add(scene)
        number = self._standing[scene]
        fault = self._plan.planned[number].fault
        try:
            fault.heal(scene)
        except Exception as error:  # what else was broken must be mended all the same
            self._mending.discard(scene)
            self._note(number, "failed", scene, f"healing: {_why(error)}")
            return f"{fault}: {_why(error)}"
        with self._lock:
            del self._standing[scene]
        if scene.subject is not None:
            self._note(number, "healed", scene)
        return ""

    def _note(
        self, number: int, step: str, scene: Scene | None = None, why: str = "", at: int | None = None
    ) -> None:
        """Write down a step of a fault; `at`: when it was, in the recorder's time, if not now."""
        planned = self._plan.planned[number]
        held = scene.held if scene else None
        self._site.recorder.write(
            events.Fault(
                self._site.recorder.now() if at is None else at,
                self._first + number,
                type(planned.fault).__name__,
                step,
                (scene.subject if scene and step != "healed" else None) or "",
                held.call.id if held else "",
                str(getattr(planned.when, "phase", "")),
                why,
                planned.optional,
            )
        )


def mends(fault: Fault) -> bool:
    """Whether a fault leaves something to mend."""
    return type(fault).heal is not Fault.heal


def same_kind(one: Fault, other: Fault) -> bool:
    """Whether two faults break the same thing of a node, and one of them at most does."""
    volumes = {getattr(each, "volume", "") for each in (one, other)}
    return one.once and type(one) is type(other) and len(volumes) == 1


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__
