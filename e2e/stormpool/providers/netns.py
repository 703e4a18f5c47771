"""The embedded provider: a nest of Linux namespaces on this host, no virtual machine, no daemon.

One init holds the whole lab in its own pid, mount, network and host-name namespaces (and a user namespace
when not root); each node is a nested set under an init of its own. When the lab's init dies, the kernel ends
every process and takes every mount, link and namespace with it; and that init ends as soon as the harness
does, for it reads a pipe only the harness holds. The host's files are seen through overlays: nothing written
in the lab reaches the host but what goes through the door, one directory of the run. What the kernel does not
undo, the cgroups, is written down (`stormpool.ledger`) before it is made.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from stormpool import ledger, processes, shell
from stormpool.capability import Capability
from stormpool.errors import CommandFailed, MachineError, TimedOut
from stormpool.lab import Lab, NodeSpec, Role
from stormpool.providers import cgroups, checks
from stormpool.shell import Completed
from stormpool.sockets import ShortPaths
from stormpool.wait import wait_until

HERE = Path(__file__).parent
NETWORK = "10.77.0"
FIRST = {Role.SERVER: 0, Role.CLIENT: 100}  # an address's last byte is this plus the node's index
BRIDGE = "lab0"
INTERFACE = "eth0"
UP_TIMEOUT = 30.0  # seconds for namespaces to stand; they take 0.1 s on an idle machine
BACKLOG = 128  # connections a gate lets wait; socat's own 5 are refused under load
DISK = "75%"  # of memory: what a lab's files may take, all nodes together

Argv = Sequence[str]


class NamespaceProcess:
    """A process in a node: the host sees it below an `nsenter` that waits for it."""

    def __init__(self, name: str, entered: subprocess.Popen[bytes]) -> None:
        self.name = name
        self._entered = entered
        self.pid = processes.only_child(entered.pid, lambda: entered.poll() is None)

    def alive(self) -> bool:
        """Whether it still runs."""
        return self.code() is None

    def code(self) -> int | None:
        """Its exit code once it has ended (negative: the signal that ended it)."""
        return self._entered.poll()

    def signal(self, number: int) -> None:
        """Send it a signal; nothing happens when it has ended."""
        if self.alive():
            processes.signal(self.pid, number)
        if number == signal.SIGCONT:
            # nsenter stops itself along with its child, and would never tell of the child's end.
            processes.signal(self._entered.pid, number)

    def wait(self, timeout: float) -> int:
        """Wait until it ends and return its exit code."""
        try:
            return self._entered.wait(timeout)
        except subprocess.TimeoutExpired as expired:
            raise TimedOut(f"process {self.name} did not end within {timeout:g} s") from expired


class NamespaceStream:
    """A command in a node that tells a line at a time, until its standard input closes."""

    def __init__(self, entered: subprocess.Popen[bytes], on_line: Callable[[str], None]) -> None:
        self._entered = entered
        self._thread = threading.Thread(target=self._read, args=(on_line,), name="stream", daemon=True)
        self._thread.start()

    def _read(self, on_line: Callable[[str], None]) -> None:
        for line in _stream(self._entered, "stdout"):
            on_line(line.decode(errors="replace"))

    def stop(self) -> None:
        """Close its standard input, and return when it has told its last line."""
        with contextlib.suppress(BrokenPipeError):
            _stream(self._entered, "stdin").close()
        self._thread.join(UP_TIMEOUT)


class NamespaceNode:
    """One node: nested namespaces, entered for every command."""

    def __init__(self, spec: NodeSpec, init: int, nest: NamespaceNodes, cgroup_dirs: Sequence[str]) -> None:
        self.spec = spec
        self.address = address_of(spec)
        self.disk = "/lab/disk"
        self.init = init
        self._nest = nest
        self._cgroups = tuple(cgroup_dirs)
        self._gates: set[int] = set()

    def run(
        self, argv: Argv, *, input: str | None = None, timeout: float = 60.0, check: bool = True
    ) -> Completed:
        """Run a command on the node to its end."""
        entered = [*_enter(self.init), *argv]
        done = shell.run(entered, where=self.spec.name, input=input, timeout=timeout, check=False)
        if check and done.code != 0:
            raise CommandFailed(self.spec.name, argv, done.code, done.stdout, done.stderr)
        return done

    def start(self, name: str, argv: Argv, *, env: Mapping[str, str], log: Path) -> NamespaceProcess:
        """Start a long-lived process in the node, in the node's cgroups."""
        with log.open("ab") as output:
            entered = self._nest.spawn(
                [*_enter(self.init), *_join(_own_view(self._cgroups)), *argv],
                env=_environment(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return NamespaceProcess(name, entered)

    def stream(self, argv: Argv, on_line: Callable[[str], None]) -> NamespaceStream:
        """Run a command that tells a line at a time."""
        entered = self._nest.spawn(
            [*_enter(self.init), *argv],
            env=_environment({}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        return NamespaceStream(entered, on_line)

    def write(self, path: str, text: str) -> None:
        """Write a file on the node, with the directories above it."""
        here = self._here(path)
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_text(text)

    def read(self, path: str) -> str:
        """Read a text file of the node."""
        return self._here(path).read_text(errors="replace")

    def gate(self, port: int) -> str:
        """Path on this host of a unix socket that leads to a TCP port on the node's loopback.

        The relay listens inside the node, so no partition of the lab's network comes between.
        """
        name = f"{self.spec.name}-{port}.sock"
        here = self._nest.door_here
        if port not in self._gates:
            self._gates.add(port)
            listen = f"UNIX-LISTEN:{self._nest.door}/{name},fork,unlink-early,backlog={BACKLOG}"
            self._nest.spawn(
                [*_enter(self.init), "socat", listen, f"TCP:127.0.0.1:{port}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        wait_until(f"gate {name} listens", (here / name).exists, timeout=UP_TIMEOUT, every=0.01)
        return self._nest.sockets.to(name)

    def _here(self, path: str) -> Path:
        return Path(f"/proc/{self.init}/root{path}")


class NamespaceNodes:
    """The nodes of one lab that is up."""

    python = sys.executable
    door = "/lab/door"
    cloud = "/lab/cloud"
    capabilities: frozenset[Capability] = frozenset()
    has_cgroups = bool(cgroups.hierarchies())

    def __init__(self, lab: Lab, lab_id: str, run_dir: Path) -> None:
        self._nodes: dict[str, NamespaceNode] = {}
        self.door_here = run_dir / "door"
        self.door_here.mkdir(parents=True, exist_ok=True)
        self.sockets = ShortPaths(self.door_here)
        self._lab = lab
        self._entry = ledger.Entry(lab_id, run_dir)
        self._spawned: list[subprocess.Popen[bytes]] = []

    @property
    def nodes(self) -> Mapping[str, NamespaceNode]:
        """Every node, by name."""
        return self._nodes

    def spawn(self, argv: Argv, **how: Any) -> subprocess.Popen[bytes]:
        """Start a child of the harness that enters the lab; it ends with the lab, and is reaped then.

        In a session of its own: a Ctrl-C at the terminal is for the harness to act on.
        """
        child = subprocess.Popen(list(argv), start_new_session=True, **how)
        self._spawned.append(child)
        return child

    def up(self) -> None:
        """Bring everything up, or leave nothing and raise."""
        try:
            self._entry.write(cgroups=cgroups.of_lab(self._entry.lab_id))
            self._start_lab()
            self._start_nodes()
        except BaseException:
            self.down()
            raise

    def down(self) -> None:
        """End the lab's init, wait until the kernel has undone the rest, remove the cgroups."""
        if self._entry.init is not None:
            processes.signal(self._entry.init, signal.SIGKILL)
        for child in self._spawned:  # the first is the init's parent; the others were in its namespaces
            if self._entry.init is None:
                child.kill()
            child.wait(UP_TIMEOUT)
            for stream in (child.stdin, child.stdout, child.stderr):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):  # what was not yet read of us is of no use now
                        stream.close()
        self._spawned.clear()
        self._entry.undo()
        if self.door_here.exists():
            self.sockets.close()
            shutil.rmtree(self.door_here)

    def keep(self, nomad: str, addresses: Mapping[str, str]) -> ledger.Written:
        """Write down how to get at the nodes, for other processes to find; return all that is written."""
        enter = {name: _enter(node.init) for name, node in self._nodes.items()}
        self._entry.write(kept=True, nomad=nomad, nodes=enter, addresses=dict(addresses))
        return self._entry.written

    def left_behind(self) -> list[str]:
        """What this host still shows of the lab."""
        return self._entry.left_behind()

    def _start_lab(self) -> None:
        script = ["sh", str(HERE / "lab_init.sh"), DISK, str(self.door_here)]
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        argv = ["unshare", *user, *_NEW, "--mount-proc", "--kill-child", *script]
        init = self.spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        _expect(init, "up", "the lab's namespaces")
        self._entry.write(init=ledger.identity(processes.only_child(init.pid, lambda: True)))

    def _start_nodes(self) -> None:
        specs = self._lab.nodes()
        started = {spec.name: self._start_node(spec) for spec in specs}
        inits = {}
        for name, init in started.items():
            _expect(init, "up", f"node {name}")
            unshared = processes.only_child(init.pid, lambda: True)
            inits[name] = processes.only_child(unshared, lambda: True)
        self._plug_in(inits)
        for init in started.values():
            _say(init, "go\n")
        for spec in specs:
            _expect(started[spec.name], "ready", f"node {spec.name}")
            dirs = cgroups.of_node(self._entry.lab_id, spec.name)
            self._nodes[spec.name] = NamespaceNode(spec, inits[spec.name], self, dirs)

    def _start_node(self, spec: NodeSpec) -> subprocess.Popen[bytes]:
        dirs = cgroups.make(self._entry.lab_id, spec.name)
        own = ["--cgroup"] if dirs else []
        python = [sys.executable, "-I", "-S", str(HERE / "node_init.py")]
        script = [*python, spec.name, address_of(spec), self._lab.data_dir, *dirs]
        argv = [*_enter(self._lab_init), *_join(dirs), "unshare", *_NEW, *own, "--mount-proc", *script]
        return self.spawn(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def _plug_in(self, inits: Mapping[str, int]) -> None:
        """Give every node its end of a veth pair; the other end is a port of the lab's bridge."""
        lines = []
        for name, init in inits.items():
            lines += [
                f"link add {name} type veth peer name {INTERFACE} netns {init}",
                f"link set {name} master {BRIDGE} up",
            ]
        # The lab's network, this host's pids: the kernel resolves `netns PID` in the caller's pid namespace.
        enter = ["nsenter", f"--target={self._lab_init}", *_USER, "--net", "--"]
        shell.run([*enter, "ip", "-batch", "-"], input="\n".join(lines) + "\n")

    @property
    def _lab_init(self) -> int:
        if self._entry.init is None:
            raise MachineError("the lab's init is not up")
        return self._entry.init


class Netns:
    """The provider `netns`."""

    name = "netns"

    def missing(self) -> list[str]:
        """What this host lacks to run a lab, each with the command that mends it."""
        return [
            f"{check.what}: {check.found} ({check.mend})" for check in checks.required() if not check.well
        ]

    def up(self, lab: Lab, lab_id: str, run_dir: Path) -> NamespaceNodes:
        """Bring all nodes of `lab` up, or leave nothing and raise."""
        nodes = NamespaceNodes(lab, lab_id, run_dir)
        nodes.up()
        return nodes


_NEW = ["--net", "--mount", "--pid", "--fork", "--uts", "--propagation", "private"]
_CGROUP = ["--cgroup"] if os.geteuid() == 0 else []
_USER = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]


def address_of(spec: NodeSpec) -> str:
    """A node's IPv4 address in the lab's network."""
    return f"{NETWORK}.{FIRST[spec.role] + spec.index}"


def _enter(init: int) -> list[str]:
    return ["nsenter", f"--target={init}", *_USER, "--mount", "--uts", "--net", "--pid", *_CGROUP, "--"]


def _join(dirs: Sequence[str]) -> list[str]:
    return ["sh", str(HERE / "join.sh"), *dirs, "--"] if dirs else []


def _own_view(dirs: Sequence[str]) -> list[str]:
    """Where a node sees its own cgroups: at the root of every hierarchy."""
    return [directory.rpartition("/stormpool/")[0] for directory in dirs]


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/root", "LANG": "C.UTF-8", "TMPDIR": "/run/tmp", **extra}


def _stream(process: subprocess.Popen[bytes], which: str) -> IO[bytes]:
    stream: IO[bytes] | None = getattr(process, which)
    if stream is None:
        raise MachineError(f"{which} of a namespace's init is closed")
    return stream


def _expect(init: subprocess.Popen[bytes], word: str, what: str) -> None:
    said = _stream(init, "stdout").readline().decode().strip()
    if said != word:
        init.kill()
        error = _stream(init, "stderr").read().decode(errors="replace").strip()
        raise MachineError(f"{what} did not come up: {error or said or 'it ended'}")


def _say(init: subprocess.Popen[bytes], text: str) -> None:
    stream = _stream(init, "stdin")
    stream.write(text.encode())
    stream.flush()
