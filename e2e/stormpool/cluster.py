"""A running lab, as a scenario sees it: volumes to make, workloads to run, a history to judge."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import msgspec
from google.protobuf.descriptor import FileDescriptor
from grpc_health.v1 import health_pb2

from stormpool import api_door, pools, settling, stubs
from stormpool.agents.api import Api, ApiError, Unreachable
from stormpool.agents.books import claims_of
from stormpool.agents.build import Agent
from stormpool.agents.nomad import Agents
from stormpool.companions import Companions
from stormpool.conductor import Conductor
from stormpool.errors import MachineError, Misuse, TimedOut, Unavailable
from stormpool.history import Alloc, History, Observed, Operation, Volume
from stormpool.judge import RunHistory
from stormpool.lab import CsiPlugin, Lab, Role
from stormpool.ledger import Written
from stormpool.nemesis import Plan
from stormpool.node import Links, Node, Nodes
from stormpool.observing import Observing
from stormpool.plugins import csi, driver, external
from stormpool.plugins.bring_up import BringUp
from stormpool.script import Act, Script
from stormpool.store import Recorder, RunDirectory
from stormpool.tap.collector import SOCKET, Collector
from stormpool.tap.messages import Protocol
from stormpool.watch import Watch
from stormpool.workloads import CONSUMER_TASK, Workload

HEALTH = cast(FileDescriptor, health_pb2.DESCRIPTOR)  # of gRPC's own health service, which go-plugin asks
SETTLE_TIMEOUT = 45.0  # seconds after the workload until claims and allocations must agree
REFUSED = re.compile(r"validation failed|Missing job|is invalid")  # an agent's words for a job that is none
SINGLE_WRITER = "single-node-writer"
VOLUME_BYTES = 64 << 20


class Turn(msgspec.Struct, frozen=True):
    """One run on a lab: where it is written, its seed, and what replaces what its scenario does."""

    directory: RunDirectory
    seed: int
    script: Script | None = None


class Cluster:
    """A lab that is up."""

    def __init__(self, lab: Lab, nodes: Nodes, agent: Agent, recorder: Recorder, turn: Turn) -> None:
        self.task_driver = "exec" if nodes.has_cgroups else driver.NAME  # what runs tasks with volumes
        self.lab = lab if nodes.has_cgroups else driver.added_to(lab)
        self.nodes: Mapping[str, Node] = nodes.nodes
        self.recorder = recorder
        self.turn = turn
        self.acts: list[Act] = []  # what was done in this turn
        self.failed: BaseException | None = None  # what the scenario itself ended with
        self.volumes: dict[str, str] = {}  # made in this turn, each with its plugin
        self.logs = turn.directory.logs
        self.agents = Agents(self.lab, nodes, agent, self.logs)
        self.watch = Watch(self.lab, self.agents, self.logs, recorder)
        self.companions = Companions(nodes.python)
        self._nodes = nodes
        self._agent = agent
        self._observing = Observing(nodes.python, recorder)
        self._collector: Collector | None = None

    @property
    def seed(self) -> int:
        """The seed of what is left to chance."""
        return self.turn.seed

    def start(self) -> None:
        """Start agents and pools, then plugins; return when all are healthy."""
        if self.lab.plugins:
            self._listen_to_taps()
        self.recorder.phase("agents")
        clients = self.clients()
        with ThreadPoolExecutor(max(1, len(clients)), thread_name_prefix="pool") as threads:
            making = [threads.submit(self._furnish, node) for node in clients]
            self.agents.start()
        for made in making:
            made.result()
        self.agents.wait_ready()
        self.watch.start()
        external.wait_healthy(self.lab, self.api())
        if self.lab.csi_plugins:
            self.recorder.phase("plugins")
            BringUp(self.lab, self.agents, self.so_far).start(self._nodes)

    def api(self, node: str = "") -> Api:
        """The HTTP API of one node's agent; of whichever server answers when left out."""
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

    def create_volumes(self, count: int, *, plugin: str = "", access: str = SINGLE_WRITER) -> list[str]:
        """Make `count` volumes through the agents, one after another, and return their names.

        `access`: how they may be shared, in Nomad's words.
        """
        chosen = next(each for each in self.lab.csi_plugins if plugin in ("", each.id))
        made = []
        for number in range(len(self.volumes) + 1, len(self.volumes) + count + 1):
            name = f"vol{number}"
            asked = {
                "ID": name,
                "Name": name,
                "Namespace": "default",
                "PluginID": chosen.id,
                "RequestedCapacityMin": VOLUME_BYTES,
                "RequestedCapacityMax": VOLUME_BYTES,
                "RequestedCapabilities": [{"AccessMode": access, "AttachmentMode": "file-system"}],
                "Parameters": dict(chosen.parameters),
            }
            self.api().put(f"volume/csi/{name}/create", {"Volumes": [asked]})
            self.recorder.write(Volume(self.recorder.now(), name, chosen.id, access))
            self.volumes[name] = chosen.id
            made.append(name)
        return made

    def delete_volume(self, name: str, timeout: float) -> None:
        """Delete a volume once it is free, as its operator would, and tell of it as an operation.

        `timeout`: seconds that it may take to become free.
        """
        began, error = self.recorder.now(), ""
        try:
            self.api().until(f"volume/csi/{name}", lambda seen: not claims_of(seen), timeout=timeout)
            self.api().delete(f"volume/csi/{name}/delete")
            del self.volumes[name]
        except (TimedOut, ApiError, Unreachable) as failed:
            error = str(failed)
        self.recorder.write(Operation(began, "delete", name, self.recorder.now(), error=error))

    def watch_datasets(self) -> None:
        """Tell of every change of allocations and of the clients' datasets, until what runs is over."""
        self.watch.allocations()
        self._observing.watch_datasets([node for node in self.clients() if node.up])

    def run(self, *acting: Workload | Plan, settle: float = SETTLE_TIMEOUT) -> RunHistory:
        """Run workloads and plans of faults at once, heal, let the cluster settle, observe every node.

        Returns what happened. `settle`: seconds from the workloads' end until nothing of them may be left, in
        the servers' books or on a node. Raises `Unavailable` for a fault that this lab cannot have.
        """
        workloads = tuple(each for each in acting if not isinstance(each, Plan))
        plan = sum((each for each in acting if isinstance(each, Plan)), Plan())
        act = self._scripted(Act(workloads, plan, settle))
        self.acts.append(act)
        self._prepare(act.plan)
        self._observing.watch(self.clients())
        self._carry_out(act)
        self.recorder.phase("settle")
        within = time.monotonic() + act.settle
        books = settling.settle(self, self.volumes, within)
        settling.wait_unpublished(self, within)
        self.recorder.phase("observe")
        self._observing.stop()
        for node in self.clients():
            settling.observe(self, node, books, self.volumes, within)
        self._observing.stop_datasets()
        self.hear_out()
        self.recorder.phase("judge")
        return RunHistory(self.turn.directory.read_history().events, self.turn.directory)

    def deploy(self, plugin: CsiPlugin) -> None:
        """Register a plugin's jobs, as they are or otherwise; what it comes to is not waited for."""
        csi.deploy(plugin, self.lab, self._nodes, self.agents)

    def hear_out(self) -> None:
        """Return when all that the taps have told is in the history."""
        if self._collector is not None:
            self._collector.hear_out()

    def _scripted(self, act: Act) -> Act:
        """What the script of this turn has in the place of what the scenario does."""
        script, number = self.turn.script, len(self.acts)
        return script.acts[number] if script and number < len(script.acts) else act

    def _prepare(self, plan: Plan) -> None:
        """Have all that the faults take.

        Raises `Unavailable` for one that this lab cannot have, `Misuse` for one that is planned where it does
        nothing.
        """
        for planned in plan.planned:
            for need in sorted(planned.fault.needs - self._nodes.capabilities):
                raise Unavailable(f"{type(planned.fault).__name__} needs a provider that can {need}")
            planned.fault.check(planned.when)
            planned.fault.prepare()

    def _carry_out(self, act: Act) -> None:
        """Run workloads while a plan of faults is carried out; when they are over, heal what it broke."""
        before = sum(len(earlier.plan.planned) for earlier in self.acts[:-1])
        conductor = Conductor(act.plan, self, self._collector, before)
        self.recorder.phase("workload")
        conductor.start()
        try:
            with ThreadPoolExecutor(max(1, len(act.workloads)), thread_name_prefix="workload") as pool:
                going_on = [pool.submit(workload.act, self, self.seed) for workload in act.workloads]
        finally:
            self.recorder.phase("heal")
            conductor.heal()
        for done in going_on:
            done.result()

    def look(self, name: str) -> Observed:
        """What a node's kernel and pools show now."""
        return self._observing.look(self.nodes[name])

    def ask(self, path: str) -> Any:
        """GET a path of the API from whichever server answers.

        Raises `Unreachable` when none does.
        """
        return self.api().get(path)

    def task_output(self, alloc: Alloc) -> str:
        """What a consumer's task printed. Raises `OSError` where that is gone, or its node."""
        path = f"{self.lab.data_dir}/alloc/{alloc.id}/alloc/logs/{CONSUMER_TASK}.stdout.0"
        return self.nodes[alloc.node].read(path)

    @property
    def links(self) -> Links:
        """The network between the nodes."""
        return self._nodes.links

    def crash(self, name: str) -> None:
        """Cut a node's power; that nothing ran on it then is written down, for its observer ends with it."""
        self._nodes.crash(name)
        self._observing.lost(name)

    def boot(self, *names: str) -> None:
        """Boot nodes that have crashed: pool, agent, observer of each; return when the agents answer."""
        down = [name for name in names if not self.nodes[name].up]
        for name in down:
            self._nodes.boot(name)
            if self.nodes[name].spec.role is Role.CLIENT:
                self._furnish(self.nodes[name])
            self._observing.back(self.nodes[name])
        self.agents.revive(*down)

    def keep(self, addresses: Mapping[str, str]) -> Written:
        """Write down how to get at the nodes, for other processes to find."""
        return self._nodes.keep(self._agent.version, addresses)

    def stop(self) -> None:
        """Keep the tasks' logs, stop watching and close every connection; the nodes stay up."""
        self.watch.stop()
        for node in self.clients():
            with contextlib.suppress(MachineError):  # what cannot be read any more is not kept
                self._keep_task_logs(node)
        self.agents.close()
        if self._collector is not None:
            self._collector.close()

    def _keep_task_logs(self, node: Node) -> None:
        """Copy what the node's tasks, plugins among them, wrote to their outputs into the run."""
        kept = self.logs / node.spec.name
        found = node.run(["find", f"{self.lab.data_dir}/alloc", "-path", "*/alloc/logs/*", "-type", "f"])
        for path in found.stdout.split():
            *_, alloc, _, _, name = path.split("/")
            text = node.read(path)
            if text:
                kept.mkdir(exist_ok=True)
                (kept / f"{alloc[:8]}-{name}").write_text(text)

    def clients(self) -> list[Node]:
        """The nodes that run plugins and tasks."""
        return [self.nodes[name] for name in self.lab.names(Role.CLIENT)]

    def _furnish(self, node: Node) -> None:
        """Give a client what is to be there before its agent."""
        pools.start(node, self.lab.pool_mib, self.logs / f"{node.spec.name}-zfs.log")
        if self.lab.has_api_door:
            api_door.open_on(node, self.companions)

    def _listen_to_taps(self) -> None:
        at = self._nodes.sockets.to(SOCKET)
        files = stubs.services("csi", "nomad", "goplugin")
        self._collector = Collector(at, Protocol([*files, HEALTH]), self.recorder)

    def so_far(self) -> tuple[History, int]:
        """What has happened by now, and when now is."""
        self.hear_out()
        return self.turn.directory.read_history(), self.recorder.now()
