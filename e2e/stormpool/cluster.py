"""A running lab, as a scenario sees it: volumes to make, workloads to run, a history to judge."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from stormpool import pools, stubs
from stormpool.agents.api import Api, ApiError, Unreachable
from stormpool.agents.books import alloc_of, claims_of, consumers, exhausted
from stormpool.agents.build import Agent
from stormpool.agents.nomad import Agents
from stormpool.checkers.nothing_left_behind import left_on
from stormpool.conductor import Conductor
from stormpool.errors import MachineError, Misuse, TimedOut
from stormpool.history import Books, Event, History, Mount, Observed, Process, Volume
from stormpool.judge import judge, must_hold
from stormpool.lab import Lab, Role
from stormpool.ledger import Written
from stormpool.nemesis import Plan
from stormpool.node import Links, Node, Nodes, Stream
from stormpool.plugins import csi
from stormpool.store import Recorder, RunDirectory
from stormpool.tap.collector import SOCKET, Collector
from stormpool.verdict import Guarantee
from stormpool.wait import wait_until
from stormpool.watch import Watch
from stormpool.workloads import Workload

SETTLE_TIMEOUT = 45.0  # seconds after the workload until claims and allocations must agree
REFUSED = re.compile(r"validation failed|Missing job|is invalid")  # an agent's words for a job that is none
WATCH_EVERY = 0.2  # seconds between two looks at the tasks of a node
OBSERVE_EVERY = 0.2  # seconds between two looks at a node on which something is left
VOLUME_BYTES = 64 << 20
OBSERVER = Path(__file__).with_name("observe.py")


class RunHistory(History):
    """The history of a run that can still be judged into its directory."""

    def __init__(self, events: Iterable[Event], directory: RunDirectory) -> None:
        super().__init__(events)
        self._directory = directory

    def must_satisfy(self, *guarantees: Guarantee) -> None:
        """Judge the guarantees, write the verdicts into the run, and fail unless every one held.

        Raises `GuaranteeBroken` when one was broken, `NotJudged` when one could not be judged.
        """
        __tracebackhide__ = True
        judged = judge(self._directory, self, guarantees)
        mine = {each.name for each in guarantees}
        must_hold([verdict for verdict in judged.verdicts if verdict.guarantee in mine])


class Cluster:
    """A lab that is up."""

    def __init__(
        self, lab: Lab, nodes: Nodes, agent: Agent, run: RunDirectory, recorder: Recorder, seed: int
    ) -> None:
        self.lab = lab
        self.task_driver = "exec" if nodes.has_cgroups else "lab"  # what runs tasks that consume volumes
        self.nodes: Mapping[str, Node] = nodes.nodes
        self.recorder = recorder
        self.run_directory = run
        self.seed = seed
        self.failed: BaseException | None = None  # what the scenario itself ended with
        self._nodes = nodes
        self._agent = agent
        self.agents = Agents(lab, nodes, agent, run.logs)
        self._watch = Watch(lab, self.agents, run.logs, recorder)
        self._collector: Collector | None = None
        self._volumes: dict[str, str] = {}
        self._watching: dict[str, Stream] = {}  # node → its observer, while a workload runs

    def start(self) -> None:
        """Start agents and pools, then plugins; return when all are healthy."""
        self.recorder.phase("agents")
        clients = self._clients()
        with ThreadPoolExecutor(max(1, len(clients)), thread_name_prefix="pool") as threads:
            making = [threads.submit(self._start_pool, node) for node in clients]
            self.agents.start()
        for made in making:
            made.result()
        self.agents.wait_ready()
        self._watch.start()
        if self.lab.plugins:
            self._start_plugins()

    def api(self, node: str = "server1") -> Api:
        """The HTTP API of one node's agent."""
        return self.agents.api(node)

    def submit(self, job: dict[str, Any]) -> None:
        """Register a job, in the shape of Nomad's JSON API.

        Raises `Misuse` when the agents find it invalid.
        """
        try:
            self.api().put("jobs", {"Job": job})
        except ApiError as refused:
            if not REFUSED.search(refused.said):
                raise
            raise Misuse(
                f"the agents refuse job {job.get('ID')!r}: {refused.said}",
                fix="mend the job as the message says; `nomad job validate` tells the same",
            ) from refused

    def submit_file(self, path: str | Path) -> None:
        """Register the job of a job file (HCL).

        Raises `Misuse` when the file is not there, cannot be parsed, or holds an invalid job.
        """
        file = Path(path)
        if not file.is_file():
            raise Misuse(f"no job file is at {file}", fix="give the path of a Nomad job file")
        try:
            job = self.api().put("jobs/parse", {"JobHCL": file.read_text(), "Canonicalize": True})
        except ApiError as refused:
            raise Misuse(
                f"{file} is no job file: {refused.said}", fix="mend what the agent points at"
            ) from refused
        self.submit(job)

    def create_volumes(self, count: int, *, plugin: str = "") -> list[str]:
        """Make `count` volumes through the agents, one after another, and return their names."""
        chosen = next(each for each in self.lab.plugins if plugin in ("", each.id))
        made = []
        for number in range(len(self._volumes) + 1, len(self._volumes) + count + 1):
            name = f"vol{number}"
            asked = {
                "ID": name,
                "Name": name,
                "Namespace": "default",
                "PluginID": chosen.id,
                "RequestedCapacityMin": VOLUME_BYTES,
                "RequestedCapacityMax": VOLUME_BYTES,
                "RequestedCapabilities": [
                    {"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}
                ],
                "Parameters": dict(chosen.parameters),
            }
            self.api().put(f"volume/csi/{name}/create", {"Volumes": [asked]})
            self.recorder.write(Volume(self.recorder.now(), name, chosen.id))
            self._volumes[name] = chosen.id
            made.append(name)
        return made

    def run(self, *acting: Workload | Plan, settle: float = SETTLE_TIMEOUT) -> RunHistory:
        """Run workloads and plans of faults at once, heal, let the cluster settle, observe every node.

        Returns what happened. `settle`: seconds from the workloads' end until nothing of them may be left, in
        the servers' books or on a node.
        """
        self._watching = {node.spec.name: self._watch_tasks(node) for node in self._clients()}
        self._act(
            [each for each in acting if not isinstance(each, Plan)],
            sum((each for each in acting if isinstance(each, Plan)), Plan()),
        )
        self.recorder.phase("settle")
        within = time.monotonic() + settle
        books = self._settle(within)
        self.recorder.phase("observe")
        for observer in self._watching.values():
            observer.stop()
        self._watching.clear()
        for node in self._clients():
            self._observe(node, books, within)
        if self._collector is not None:
            self._collector.hear_out()
        return RunHistory(self.run_directory.read_history().events, self.run_directory)

    def _act(self, workloads: Sequence[Workload], plan: Plan) -> None:
        """Run workloads while a plan of faults is carried out; when they are over, heal what it broke."""
        conductor = Conductor(plan, self, self._collector)
        self.recorder.phase("workload")
        conductor.start()
        try:
            with ThreadPoolExecutor(max(1, len(workloads)), thread_name_prefix="workload") as pool:
                going_on = [pool.submit(workload.act, self, self.seed) for workload in workloads]
        finally:
            self.recorder.phase("heal")
            conductor.heal()
        for done in going_on:
            done.result()

    def look(self, name: str) -> Observed:
        """What a node's kernel and pools show now."""
        seen = json.loads(self.nodes[name].run(self._observer()).stdout)
        return observed(seen, name, self.recorder.zero, settled=True)

    def ask(self, path: str) -> Any:
        """GET a path of the API from the first server that answers.

        Raises `Unreachable` when none does.
        """
        for name in self.lab.names(Role.SERVER):
            with contextlib.suppress(Unreachable, ApiError):
                return self.api(name).get(path)
        raise Unreachable(f"no server answers to GET {path}")

    @property
    def links(self) -> Links:
        """The network between the nodes."""
        return self._nodes.links

    def crash(self, name: str) -> None:
        """Cut a node's power; that nothing ran on it then is written down, for its observer ends with it."""
        self._nodes.crash(name)
        if name in self._watching:
            self._watching[name].stop()
            self.recorder.write(Observed(self.recorder.now(), name))

    def boot(self) -> None:
        """Boot every node that has crashed: its pool, its agent, its observer; return when agents answer."""
        for name, node in self.nodes.items():
            if not node.up:
                self._nodes.boot(name)
                if node.spec.role is Role.CLIENT:
                    self._start_pool(node)
                if name in self._watching:
                    self._watching[name] = self._watch_tasks(node)
        self.agents.revive()

    def keep(self, addresses: Mapping[str, str]) -> Written:
        """Write down how to get at the nodes, for other processes to find."""
        return self._nodes.keep(self._agent.version, addresses)

    def stop(self) -> None:
        """Keep the tasks' logs, stop watching and close every connection; the nodes stay up."""
        self._watch.stop()
        for node in self._clients():
            with contextlib.suppress(MachineError):  # what cannot be read any more is not kept
                self._keep_task_logs(node)
        self.agents.close()
        if self._collector is not None:
            self._collector.close()

    def _keep_task_logs(self, node: Node) -> None:
        """Copy what the node's tasks, plugins among them, wrote to their outputs into the run."""
        kept = self.run_directory.logs / node.spec.name
        found = node.run(["find", f"{self.lab.data_dir}/alloc", "-path", "*/alloc/logs/*", "-type", "f"])
        for path in found.stdout.split():
            *_, alloc, _, _, name = path.split("/")
            text = node.read(path)
            if text:
                kept.mkdir(exist_ok=True)
                (kept / f"{alloc[:8]}-{name}").write_text(text)

    def _clients(self) -> list[Node]:
        return [self.nodes[name] for name in self.lab.names(Role.CLIENT)]

    def _start_pool(self, node: Node) -> None:
        pools.start(node, self.lab.pool_mib, self.run_directory.logs / f"{node.spec.name}-zfs.log")

    def _start_plugins(self) -> None:
        self.recorder.phase("plugins")
        at = self._nodes.sockets.to(SOCKET)
        self._collector = Collector(at, stubs.load("csi", "csi_pb2"), self.recorder.zero, self.recorder.write)
        for plugin in self.lab.plugins:
            csi.deploy(plugin, self.lab, self._nodes, self.agents)
        for plugin in self.lab.plugins:
            csi.wait_healthy(plugin, self.lab, self.agents)

    def _settle(self, within: float) -> Books:
        """Wait until no consumer lives and no claim is left, and write down what the servers then say."""
        began = self.recorder.now()
        settled = -1.0
        try:
            for stub in self.api().get("jobs"):
                if not stub["ID"].startswith("plugin-"):
                    self.api().delete(f"job/{stub['ID']}")
            for name in self._volumes:
                self.api().until(
                    f"volume/csi/{name}", lambda seen: not claims_of(seen), timeout=_left(within)
                )
            self.api().until("allocations", lambda seen: not consumers(seen), timeout=_left(within))
            settled = (self.recorder.now() - began) / 1e9
        except (TimedOut, ApiError, Unreachable):
            pass  # what has not settled is for the checkers to name
        claims = {name: claims_of(self.api().get(f"volume/csi/{name}")) for name in self._volumes}
        allocs = [alloc_of(stub) for stub in self.api().get("allocations")]
        books = Books(self.recorder.now(), claims, allocs, exhausted(self.api().get("evaluations")), settled)
        self.recorder.write(books)
        return books

    def _observe(self, node: Node, books: Books, within: float) -> None:
        """Look at a node until nothing is left on it that should not be, and write down the last look."""
        looks: list[Observed] = []

        def look() -> list[str]:
            looks.append(self.look(node.spec.name))
            return list(left_on(looks[-1], books, self._volumes))

        with contextlib.suppress(TimedOut):  # what is left is for the checkers to name
            wait_until(
                f"nothing is left on {node.spec.name}",
                look,
                lambda left: not left,
                timeout=_left(within),
                every=OBSERVE_EVERY,
            )
        self.recorder.write(looks[-1])

    def _watch_tasks(self, node: Node) -> Stream:
        """Write every change of the tasks that hold a volume into the history."""
        name, recorder = node.spec.name, self.recorder

        def tell(line: str) -> None:
            recorder.write(observed(json.loads(line), name, recorder.zero, settled=False))

        return node.stream(self._observer("--watch", str(WATCH_EVERY)), tell)

    def _observer(self, *words: str) -> list[str]:
        """The observer's process on a node; it needs nothing but the interpreter."""
        return [self._nodes.python, "-I", "-S", str(OBSERVER), *words]


def _left(within: float) -> float:
    """Seconds until then, on the monotonic clock."""
    return max(0.0, within - time.monotonic())


def observed(seen: dict[str, Any], node: str, zero: int, *, settled: bool) -> Observed:
    """What an observer printed, as an event."""
    return Observed(
        t=seen["at"] - zero,
        node=node,
        since=max(0, seen.get("since", 0) - zero),
        settled=settled,
        processes=[Process(**process) for process in seen["processes"]],
        mounts=[Mount(**mount) for mount in seen.get("mounts", [])],
        pools=seen.get("pools", []),
        datasets=seen.get("datasets", []),
    )
