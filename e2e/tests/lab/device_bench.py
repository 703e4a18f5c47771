"""A node with a pool and no agent, plugins on it to be driven directly, and an API for them to ask."""

from __future__ import annotations

import json
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from stormpool import pools
from stormpool.goplugin.drive import DrivenDevice, DrivenDriver
from stormpool.goplugin.on_node import OnNode
from stormpool.goplugin.process import PluginProcess
from stormpool.lab import Lab
from stormpool.node import Bringing, Node
from stormpool.programs import fixture_environment
from stormpool.providers.netns import NamespaceNodes, Netns
from stormpool.wait import wait_until

NODE = "client1"
SOON = 10.0  # seconds


class DeviceBench:
    """One node with a pool."""

    def __init__(self, nodes: NamespaceNodes, logs: Path) -> None:
        self.nodes = nodes
        self.node: Node = nodes.nodes[NODE]
        self.logs = logs

    def device(self, *words: str, mutant: str = "", **config: Any) -> DrivenDevice:
        """The reference device plugin, started and configured."""
        argv = [sys.executable, "-m", "zfs_device", f"--node={NODE}", "--pool=tank", *words]
        device = DrivenDevice(self._start(argv, {"ZFS_DEVICE_MUTANT": mutant}))
        device.configure({"poll_seconds": 0.1, "disks": f"{self.node.disk}/vdevs", **config})
        return device

    def driver(self, mutant: str = "") -> DrivenDriver:
        """The driver that exposes datasets, started and configured."""
        argv = [sys.executable, "-m", "zfs_dataset_driver", "--pool=tank"]
        driver = DrivenDriver(self._start(argv, {"ZFS_DATASET_DRIVER_MUTANT": mutant}))
        driver.configure({"poll_seconds": 0.1, "disks": f"{self.node.disk}/vdevs"})
        return driver

    def _start(self, argv: list[str], env: dict[str, str]) -> PluginProcess:
        given = {**fixture_environment(), **env}
        started = OnNode(self.nodes, NODE, argv, log=self.logs / "plugin.log", env=given)
        return PluginProcess(started)

    def datasets(self, below: str = "tank/devices") -> list[str]:
        """The names of what is below a dataset."""
        listed = self.node.run(["zfs", "list", "-H", "-o", "name", "-r", below], check=False)
        return [name.removeprefix(f"{below}/") for name in listed.stdout.split() if name != below]

    def export(self) -> None:
        """Export the node's pool."""
        self.node.run(["zpool", "export", "tank"])

    def import_again(self) -> None:
        """Import it again."""
        self.node.run(["zpool", "import", "-d", f"{self.node.disk}/vdevs", "tank"])

    def shell(self, script: str) -> str:
        """What a script on the node prints."""
        return self.node.run(["sh", "-c", script]).stdout

    @contextmanager
    def using(self, path: str) -> Iterator[None]:
        """While a process on the node, in a mount namespace of its own, has a directory mounted in it."""
        hold = f"mount --bind {path} /mnt && echo holds && exec sleep 300"
        log = self.logs / "holder.log"
        holder = self.node.start("holder", ["unshare", "--mount", "sh", "-c", hold], env={}, log=log)
        wait_until("it holds", lambda: "holds" in log.read_text(), timeout=SOON)
        try:
            yield
        finally:
            holder.signal(9)
            holder.wait(SOON)


@contextmanager
def device_bench(tmp_path: Path) -> Iterator[DeviceBench]:
    """A bench, while it is needed."""
    nodes = Netns().up(Lab(servers=1, clients=1), Bringing("0badcafe", tmp_path))
    try:
        made = DeviceBench(nodes, tmp_path)
        pools.start(made.node, 128, tmp_path / "zfs.log")
        yield made
    finally:
        nodes.down()


def allocation(id: str, created: int, status: str, *instances: str, started: bool = True) -> dict[str, Any]:
    """An allocation as the agents' API shows it, with instances of the pool `tank`."""
    device = {"Vendor": "zfs", "Type": "dataset", "Name": "tank", "DeviceIDs": list(instances)}
    at = "2026-01-02T03:04:05.6Z" if started else "0001-01-01T00:00:00Z"
    return {
        "ID": id,
        "CreateIndex": created,
        "ModifyIndex": created,
        "ClientStatus": status,
        "DesiredStatus": "run",
        "AllocatedResources": {"Tasks": {"writer": {"Devices": [device]}}, "Shared": {}},
        "TaskStates": {"writer": {"State": "running", "StartedAt": at}} if status != "pending" else None,
    }


class Servers(socketserver.ThreadingUnixStreamServer):
    """Stands in for the agents' API alone, where a plugin is tried without agents.

    Tells what a test has it know; queries wait for news as theirs do.
    """

    daemon_threads = True

    def __init__(self, socket: str) -> None:
        super().__init__(socket, Asked)
        self.asked: list[str] = []
        self._changed = threading.Condition()
        self._index = 1
        self._allocations: list[dict[str, Any]] = []
        self._error = 0
        self._left_out = ""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def know(self, *allocations: dict[str, Any], index: int = 0) -> None:
        """From now on the servers know these allocations."""
        with self._changed:
            self._allocations, self._error = list(allocations), 0
            self._index = index or self._index + 1
            self._changed.notify_all()

    def leave_out(self, id: str) -> None:
        """From now on a list of allocations is without this one: as to somebody who may not read its job."""
        with self._changed:
            self._left_out = id
            self._index += 1
            self._changed.notify_all()

    def fail(self, status: int) -> None:
        """From now on every answer is an error."""
        with self._changed:
            self._error = status
            self._changed.notify_all()

    def answer(self, path: str, index: int, wait: float) -> tuple[int, int, Any]:
        """Status, index and what is said."""
        with self._changed:
            self.asked.append(path)
            self._changed.wait_for(lambda: self._index > index or self._error, wait)
            if self._error:
                return self._error, self._index, "No cluster leader"
            known = {each["ID"]: each for each in self._allocations}
            said = {
                "/v1/agent/self": {"stats": {"client": {"node_id": "n1"}}},
                "/v1/node/n1/allocations": [each for id, each in known.items() if id != self._left_out],
                **{f"/v1/allocation/{id}": each for id, each in known.items()},
            }
            return (200, self._index, said[path]) if path in said else (404, self._index, "not found")


class Asked(BaseHTTPRequestHandler):
    """One connection to them."""

    server: Servers
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer."""
        asked = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(asked.query).items()}
        wait = float(query.get("wait", "0s").removesuffix("s"))
        status, index, said = self.server.answer(asked.path, int(query.get("index", 0)), wait)
        content = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("X-Nomad-Index", str(index))
        self.send_header("Content-Length", str(len(content)))
        with suppress(ConnectionError):  # a plugin that has ended waits for nothing any more
            self.end_headers()
            self.wfile.write(content)

    def address_string(self) -> str:
        """A unix socket has none."""
        return "plugin"

    def log_message(self, format: str, *args: Any) -> None:
        """Tests read `asked`."""


@contextmanager
def servers(bench: DeviceBench) -> Iterator[Servers]:
    """Servers behind the lab's door, while they are needed; plugins ask at `unix:///lab/door/api.sock`."""
    made = Servers(bench.nodes.sockets.to("api.sock"))
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
