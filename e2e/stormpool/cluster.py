"""A running lab, as a scenario sees it: volumes to make, workloads to run, a history to judge."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from msgspec import structs

from stormpool import api_door, settling
from stormpool.agents.api import Api, ApiError, Unreachable
from stormpool.agents.books import alloc_of, claims_of
from stormpool.agents.build import Agent
from stormpool.agents.nomad import Agents
from stormpool.errors import MachineError, Misuse, TimedOut
from stormpool.events import Alloc, Operation, Volume
from stormpool.judge import RunHistory
from stormpool.lab import CsiPlugin, Lab, Role
from stormpool.ledger import Written
from stormpool.nemesis import Plan
from stormpool.node import Node, Nodes
from stormpool.plugins import csi, driver, external
from stormpool.plugins.bring_up import BringUp
from stormpool.script import Act
from stormpool.site import Site, Turn, apart
from stormpool.store import Recorder
from stormpool.watch import Watch
from stormpool.workloads import CONSUMER_TASK, How, Workload, consumer
from stormpool.workloads.consumer import WRITES, attachment
from stormpool.workloads.read_back import tell_of_writes

SETTLE_TIMEOUT = 45.0  # seconds after the workload until claims and allocations must agree
REFUSED = re.compile(r"validation failed|Missing job|is invalid")  # an agent's words for a job that is none
SINGLE_WRITER = "single-node-writer"
VOLUME_BYTES = 64 << 20
NO_SECRETS: Mapping[str, str] = {}


class Cluster(Site):
    """A lab that is up, with agents on every node."""

    def __init__(self, agent: Agent, lab: Lab, nodes: Nodes, recorder: Recorder, turn: Turn) -> None:
        super().__init__(lab, nodes, recorder, turn)
        self.task_driver = "exec" if nodes.has_cgroups else driver.NAME  # what runs tasks with volumes
        # A cgroup keeps the tasks of Nomad's own drivers from opening a volume that is a device.
        self._devices = {plugin.id for plugin in lab.csi_plugins if plugin.block}
        self._whole = lab if nodes.has_cgroups and not self._devices else driver.added_to(lab)
        self.agents = Agents(self._whole, nodes, agent, self.logs)
        self.watch = Watch(lab, self.agents, self.logs, recorder)
        self._agent = agent

    @property
    def cluster(self) -> Cluster:
        """This."""
        return self

    def start(self) -> None:
        """Start agents and pools, then plugins; return when all are healthy."""
        if self._whole.plugins:
            self._listen_to_taps()
        self.recorder.phase("agents")
        with ThreadPoolExecutor(1, thread_name_prefix="pools") as thread:
            making = thread.submit(self._start_pools)
            self.agents.start()
        making.result()
        self.agents.wait_ready()
        self.watch.start()
        external.wait_healthy(self._whole, self.agents)
        if self.lab.csi_plugins:
            self.recorder.phase("plugins")
            BringUp(self._whole, self.agents, self.so_far).start(self._nodes)

    def api(self, node: str = "") -> Api:
        """The HTTP API of one node's agent; of whichever server answers when left out."""
        return self.agents.api(node)

    def allocs_of(self, job: str) -> list[Alloc]:
        """The allocations of a job, by the servers' word."""
        return [alloc_of(stub) for stub in self.ask(f"job/{job}/allocations")]

    def retell(self) -> None:
        """Write what the servers hold for true into a history that has just begun."""
        self.watch.retell()

    def submit(self, job: dict[str, Any]) -> int:
        """Register a job, in the shape of Nomad's JSON API.

        Returns the index of the servers' state that it has since: what is placed for it has a higher one, and
        what was placed for one of that name that was stopped has not.

        Raises `Misuse` when the agents find it invalid.
        """
        try:
            return int(self.api().put("jobs", {"Job": job})["JobModifyIndex"])
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

    def create_volumes(
        self,
        count: int,
        *,
        plugin: str = "",
        access: str = SINGLE_WRITER,
        secrets: Mapping[str, str] = NO_SECRETS,
    ) -> list[str]:
        """Make `count` volumes through the agents, one after another, and return their names.

        `access`: how they may be shared, in Nomad's words. `secrets`: given with every call about them that
        takes any.
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
                "RequestedCapabilities": [{"AccessMode": access, "AttachmentMode": attachment(chosen.block)}],
                "Parameters": dict(chosen.parameters),
                "Secrets": dict(secrets),
            }
            self.api().put(f"volume/csi/{name}/create", {"Volumes": [asked]})
            self.recorder.write(Volume(self.recorder.now(), name, chosen.id, access))
            self.volumes[name] = chosen.id
            made.append(name)
        return made

    def change_secrets(self, volume: str, secrets: Mapping[str, str]) -> None:
        """Have other secrets given with the calls about a volume from now on."""
        held = self.api().get(f"volume/csi/{volume}")
        self.api().put(f"volume/csi/{volume}", {"Volumes": [{**held, "Secrets": dict(secrets)}]})

    def consumer(self, job: str, volume: str, node: str = "", how: How = WRITES) -> dict[str, Any]:
        """The job of a task that uses a volume, as what it is: directory or device."""
        block = self.volumes.get(volume) in self._devices
        driver_name = driver.NAME if block else self.task_driver
        return consumer(job, volume, driver_name, node, structs.replace(how, block=block))

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
        return self._run(*apart(acting), settle)

    def _settle(self, act: Act) -> None:
        within = time.monotonic() + act.settle
        books = settling.settle(self, self.volumes, within)
        settling.wait_unpublished(self, within)
        self.recorder.phase("observe")
        self._observing.stop()
        settling.observe(self, books, self.volumes, within)

    def deploy(self, plugin: CsiPlugin) -> None:
        """Register a plugin's jobs, as they are or otherwise; what it comes to is not waited for."""
        csi.deploy(plugin, self.lab, self._nodes, self.agents)

    def ask(self, path: str) -> Any:
        """GET a path of the API from whichever server answers.

        Raises `Unreachable` when none does.
        """
        return self.api().get(path)

    def task_output(self, alloc: Alloc) -> str:
        """What a consumer's task printed. Raises `OSError` where that is gone, or its node."""
        path = f"{self.lab.data_dir}/alloc/{alloc.id}/alloc/logs/{CONSUMER_TASK}.stdout.0"
        return self.nodes[alloc.node].read(path)

    def crash(self, name: str, *, panic: bool = False) -> None:
        """Cut a node's power; what its tasks had told of is written down first: output may go with it.

        `panic`: its kernel panics first.
        """
        if self.nodes[name].up:
            with contextlib.suppress(ApiError, Unreachable):
                tell_of_writes(self, name)
        super().crash(name, panic=panic)

    def boot(self, *names: str) -> None:
        """Boot nodes that have crashed: pool, agent, observer of each; return when the agents answer.

        One without its pool or its observer is down again, and not taken for whole; one whose agent does not
        answer is up, for it may be cut off.
        """
        for name in names:
            if not self.nodes[name].up:
                self._boot(name)
        self.agents.revive(*names)

    def _boot(self, name: str) -> None:
        try:
            self._nodes.boot(name)
            if self.nodes[name].spec.role is Role.CLIENT:
                self._start_pool(self.nodes[name])
            self._observing.back(self.nodes[name])
        except Exception:
            super().crash(name)
            raise

    def keep(self, addresses: Mapping[str, str]) -> Written:
        """Write down how to get at the nodes, for other processes to find."""
        return self._nodes.keep(self._agent.version, addresses)

    def copy(self) -> None:
        """Keep the lab as it is now, for `revert`."""
        self.agents.close()
        super().copy()
        self.agents.keep()
        self.watch.keep()

    def revert(self) -> None:
        """Have the lab as it was at the time of `copy`; return when its agents answer."""
        self.agents.close()
        super().revert()
        self.agents.take_back()
        self.watch.take_back()
        self.agents.wait_ready()

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

    def _start_pool(self, node: Node) -> None:
        """Give a client what is to be there before its agent."""
        super()._start_pool(node)
        if self.lab.has_api_door:
            api_door.open_on(node, self.companions)
