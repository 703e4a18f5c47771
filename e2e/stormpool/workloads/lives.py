"""Lives of tasks in a lab without agents: started, waited for, stopped and destroyed as an agent would."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TYPE_CHECKING

import grpc
from msgspec import structs

from stormpool import counting
from stormpool.events import Ended, Operation, TaskView
from stormpool.goplugin.driver import Exit, Handle, Task
from stormpool.pace import Seconds
from stormpool.workloads.tasks import Kind
from stormpool.workloads.workload import Workload

if TYPE_CHECKING:
    from stormpool.alone.site import Alone

NODE = "client1"
DIRECTORIES = ("alloc/logs", "{task}/local", "{task}/secrets", "{task}/tmp")


class Lives(Workload, frozen=True):
    """So many tasks at once, each from its start to its end; so many turns, one after another."""

    count: int
    turns: int
    kind: Kind
    goes_on: Seconds  # seconds until a task that does not end by itself is stopped
    timeout: Seconds  # seconds until the tasks must fit their executors, once faults were

    @property
    def steps(self) -> int:
        """Tasks."""
        return self.count * self.turns

    def smaller(self) -> Iterable[Lives]:
        """Half of the turns, half of the tasks."""
        if self.turns > 1:
            yield structs.replace(self, turns=self.turns // 2)
        if self.count > 1:
            yield structs.replace(self, count=self.count // 2)

    def act(self, cluster: Alone, seed: int) -> None:
        """Do it, a thread a task."""
        chance = Random(f"{seed} {self.kind.name}")
        for turn in range(1, self.turns + 1):
            first = (turn - 1) * self.count + 1
            with ThreadPoolExecutor(self.count, thread_name_prefix="workload") as pool:
                begun = [
                    pool.submit(Life, cluster, f"{self.kind.name}{number}", _id(chance), self.kind)
                    for number in range(first, first + self.count)
                ]
                lives = [each.result() for each in begun]
                if not self.kind.seconds:
                    counting.look(cluster)
                    threading.Event().wait(self.goes_on)
                    counting.count(cluster, lambda: [*cluster.tasks.values()], self.timeout)
                list(pool.map(Life.end, lives))


class Life:
    """One task, from its start."""

    def __init__(self, site: Alone, name: str, alloc: str, kind: Kind) -> None:
        self._site, self._kind, self._alloc = site, kind, alloc
        self._keeper = site.keeper(kind.driver)
        self._handle: Handle | None = None
        self._ended: list[Exit] = []
        began, error = site.recorder.now(), ""
        site.tasks[alloc] = TaskView(alloc, name, NODE, "pending", kind.driver)
        try:
            self._handle = self._keeper.start(self._described(name))
            self._is("running")
        except grpc.RpcError as failed:
            error = str(failed.details())
            self._is("dead")
        site.recorder.write(Operation(began, "start", name, site.recorder.now(), alloc, NODE, error))
        self._waiting = threading.Thread(target=self._wait, daemon=True)
        self._waiting.start()

    def end(self) -> None:
        """Stop the task unless it ends by itself, destroy it, and write down how it ended."""
        if self._handle is None:
            return
        began, error = self._site.recorder.now(), ""
        try:
            if not self._kind.seconds:
                self._keeper.stop(self._handle, timeout=2.0)
        except grpc.RpcError as failed:  # an agent that cannot stop a task has it destroyed
            error = str(failed.details())
            self._keeper.destroy(self._handle)
        self._waiting.join()
        self._keeper.destroy(self._handle)
        self._tell(self._handle.task, Operation(began, "stop", "", self._site.recorder.now(), error=error))

    def _wait(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(grpc.RpcError):
                self._ended.append(self._keeper.wait(self._handle))
            self._is("dead")

    def _tell(self, task: Task, done: Operation) -> None:
        recorder = self._site.recorder
        recorder.write(structs.replace(done, subject=task.name))
        with contextlib.suppress(OSError):
            said = counting.last_words(
                self._site.nodes[NODE].read(f"{task.alloc_dir}/alloc/{counting.LIVES}")
            )
            told = [(each.code, each.signal) for each in self._ended if not each.error]
            recorder.write(Ended(recorder.now(), task.alloc_id, task.name, NODE, told, said))

    def _is(self, state: str) -> None:
        tasks = self._site.tasks
        tasks[self._alloc] = structs.replace(tasks[self._alloc], state=state)

    def _described(self, name: str) -> Task:
        """The task, with the directories that an agent would have made for it."""
        kind, alloc = self._kind, self._alloc
        here = f"{self._site.lab.data_dir}/alloc/{alloc}"
        made = [f"{here}/{each.format(task=name)}" for each in DIRECTORIES]
        self._site.nodes[NODE].run(["mkdir", "-p", *made])
        return Task(
            id=f"{alloc}/{name}/{alloc[:8]}",
            name=name,
            alloc_id=alloc,
            config=self._keeper.driver.task_config(kind.block),
            env={**kind.env, "NOMAD_ALLOC_ID": alloc, "NOMAD_TASK_NAME": name, "NOMAD_ALLOC_DIR": "/alloc"},
            alloc_dir=here,
            stdout=f"{here}/alloc/logs/{name}.stdout.0",
            stderr=f"{here}/alloc/logs/{name}.stderr.0",
            job=name,
        )


def _id(chance: Random) -> str:
    """An allocation's."""
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def lives(
    count: int = 1,
    kind: Kind | None = None,
    *,
    turns: int = 1,
    goes_on: float = 1.0,
    timeout: float = 5.0,
) -> Lives:
    """Have so many tasks live at once, `turns` times one after another, in a lab without agents.

    Each is stopped after `goes_on` seconds, unless it ends by itself (`kind.seconds`).
    """
    return Lives(count, turns, kind or Kind(), goes_on, timeout)
