"""Tasks without volumes, for what is about drivers, executors and devices."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from stormpool import counting
from stormpool.agents.api import ApiError, Unreachable
from stormpool.agents.books import alloc_of
from stormpool.counting import BEGINS, LIVES, SAYS
from stormpool.errors import TimedOut
from stormpool.events import Operation
from stormpool.pace import Seconds
from stormpool.plugins import driver
from stormpool.workloads.attaching import attach, fresh
from stormpool.workloads.consumer import CONSUMER_TASK
from stormpool.workloads.hold import runs, wait_back
from stormpool.workloads.jobs import LASTING, LOGS, ONCE, SECOND, one_group, shell
from stormpool.workloads.workload import STEP_TIMEOUT, Workload

if TYPE_CHECKING:
    from stormpool.cluster import Cluster

# Says that it begins, works for so long, a write each tenth of a second where it has a place to write to, and
# says what it is about to end with; asked to end, it ends with 0. It says so in a file: what it prints goes
# through a process of the agent's, which does not always hear it when a start was cut short.
SCRIPT = f"""
say() {{ echo "$1" >>"$NOMAD_ALLOC_DIR/{LIVES}"; }}
finish() {{ say "{SAYS}$1"; exit "$1"; }}
trap 'finish 0' INT TERM
say {BEGINS}
n=0
while [ "$n" -lt "$ROUNDS" ]; do
  n=$((n + 1))
  [ -z "$PLACE" ] || echo "$n" | dd of="$PLACE/writes" oflag=append conv=notrunc,fsync 2>/dev/null
  usleep 100000
done
finish "$CODE"
"""
ROUNDS_A_SECOND = 10
FOR_EVER = 1 << 30


class Kind(msgspec.Struct, frozen=True, omit_defaults=True):
    """What kind of tasks: who runs them, what they are given, what becomes of them."""

    driver: str = driver.NAME
    config: dict[str, Any] = {}  # of the driver, beside the command
    seconds: Seconds = 0.0  # after which a task ends by itself; never when 0
    code: int = 0  # that it ends with then
    lasting: bool = True  # restarted and placed anew when it fails or its node is lost; else it is not
    node: str = ""  # where it must run; anywhere when empty
    devices: tuple[dict[str, Any], ...] = ()  # as a job asks for them, in the shape of Nomad's JSON API
    place: str = ""  # a directory of the task's to write to
    name: str = "task"  # what the jobs' names begin with

    @property
    def block(self) -> dict[str, Any]:
        """The `config` block of such a task."""
        return {**shell(SCRIPT), **self.config}

    @property
    def env(self) -> dict[str, str]:
        """What its script is told."""
        rounds = round(self.seconds * ROUNDS_A_SECOND) or FOR_EVER
        return {"ROUNDS": str(rounds), "CODE": str(self.code), "PLACE": self.place}


class Tasks(Workload, frozen=True):
    """So many jobs of a task each, at once: run for a while, counted with their executors, and stopped."""

    count: int
    kind: Kind
    goes_on: Seconds  # seconds
    timeout: Seconds  # seconds that a start, running again, and a stop may take, each

    @property
    def steps(self) -> int:
        """Tasks."""
        return self.count

    def smaller(self) -> Iterable[Tasks]:
        """Half of the tasks."""
        if self.count > 1:
            yield structs.replace(self, count=self.count // 2)

    def act(self, cluster: Cluster, seed: int) -> None:  # noqa: ARG002 - nothing is left to chance
        """Do it, a thread a task; those that go on are counted together, at the end of their time."""
        each = [f"{self.kind.name}{number}" for number in range(1, self.count + 1)]
        with ThreadPoolExecutor(self.count, thread_name_prefix="workload") as pool:
            if self.kind.seconds:
                list(pool.map(lambda name: self._finish(cluster, name), each))
                return
            started = list(pool.map(lambda name: self._start(cluster, name), each))
            counting.look(cluster)
            threading.Event().wait(self.goes_on)
            wait_back(cluster, self.timeout)
            go_on = [name for name, done in zip(each, started, strict=True) if done or self.kind.lasting]
            list(pool.map(lambda name: runs(cluster, name, name, self.timeout), go_on))
            counting.count(cluster, lambda: counting.tasks(cluster.api()), self.timeout)
            list(pool.map(lambda name: self._stop(cluster, name), each))

    def _start(self, cluster: Cluster, name: str) -> bool:
        """Start a task; whether it runs."""
        return not attach(cluster, job(name, self.kind), name, self.timeout).error

    def _finish(self, cluster: Cluster, name: str) -> None:
        """Start a task that ends by itself, and wait until it has, once and for all."""
        began, error, since = cluster.recorder.now(), "", 0
        try:
            since = cluster.submit(job(name, self.kind))
        except (ApiError, Unreachable) as failed:
            error = str(failed)
        self._tell(cluster, name, Operation(began, "finish", name, 0, error=error), since)

    def _stop(self, cluster: Cluster, name: str) -> None:
        """Stop a task, and wait until it has ended."""
        began, error = cluster.recorder.now(), ""
        try:
            cluster.api().delete(f"job/{name}")
        except (ApiError, Unreachable) as failed:
            error = str(failed)
        self._tell(cluster, name, Operation(began, "stop", name, 0, error=error))

    def _tell(self, cluster: Cluster, name: str, done: Operation, since: int = 0) -> None:
        """Wait until a task has ended, and write down how its lives did; not those of before an index."""
        seen: list[dict[str, Any]] = []
        error = done.error
        try:
            path = f"job/{name}/allocations"
            ended = cluster.api().until(
                path, lambda stubs: _over(fresh(stubs, since)), timeout=self.timeout, missing=[]
            )
            seen = fresh(ended, since)
        except (TimedOut, ApiError, Unreachable) as failed:
            error = error or str(failed)
        for alloc in map(alloc_of, seen):
            with contextlib.suppress(ApiError, Unreachable):
                counting.ends(cluster, alloc.id, CONSUMER_TASK)
        cluster.recorder.write(structs.replace(done, ended=cluster.recorder.now(), error=error))


def tasks(
    count: int = 1, kind: Kind | None = None, *, goes_on: float = 3.0, timeout: float = STEP_TIMEOUT
) -> Tasks:
    """Run so many tasks at once, each a job, for so many seconds; then count them, and stop them.

    `timeout`: seconds that a start, running again after a fault, and a stop may take, each.
    """
    return Tasks(count, kind or Kind(), goes_on, timeout)


def job(name: str, kind: Kind) -> dict[str, Any]:
    """The job of one task, in the shape of Nomad's JSON API."""
    task = {
        "Name": CONSUMER_TASK,
        "Driver": kind.driver,
        "Config": kind.block,
        "Env": kind.env,
        "Resources": {"CPU": 20, "MemoryMB": 16, "Devices": list(kind.devices)},
        "KillTimeout": 2 * SECOND,
        "LogConfig": LOGS,
    }
    fate = LASTING if kind.lasting else ONCE
    group = {"Name": "group", "Count": 1, "Tasks": [task], **fate, "EphemeralDisk": {"SizeMB": 10}}
    return one_group(name, group, kind="batch" if kind.seconds else "service", node=kind.node)


def _over(stubs: list[dict[str, Any]]) -> bool:
    """Whether every allocation of a job is over, and there was one."""
    return bool(stubs) and not any(alloc_of(stub).live for stub in stubs)
