"""Labs to play with by hand: `up` leaves a keeper behind, a harness in the background that `down` ends.

The keeper is the ordinary runner; all else reads what it has written into the ledger.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console

from stormpool import forward, ledger, processes
from stormpool.errors import MachineError, Misuse
from stormpool.lab import Lab
from stormpool.ledger import Written
from stormpool.plugins import csi
from stormpool.runner import Asked, running
from stormpool.wait import wait_until

DOWN_TIMEOUT = 60.0  # seconds that a keeper may take to end its lab


@dataclass(frozen=True)
class Wanted:
    """What kind of lab is wanted."""

    servers: int
    clients: int
    nomad: str
    csi: bool
    provider: str
    out: Path

    def argv(self) -> list[str]:
        """The keeper's process."""
        words = [self.servers, self.clients, self.nomad, int(self.csi), self.provider, self.out]
        return [sys.executable, "-m", "stormpool.hand", *map(str, words)]


def up(wanted: Wanted, *, quiet: bool) -> Written:
    """Start a keeper, wait until its lab is up, and return what is written of it."""
    keeper = subprocess.Popen(
        wanted.argv(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    said = ""
    try:
        with Console(stderr=True, quiet=quiet).status("starting") as status:
            for line in keeper.stdout or ():
                said = line.strip()
                if said.startswith("{"):
                    return msgspec.json.decode(said, type=Written)
                status.update(said)
    except KeyboardInterrupt:
        keeper.send_signal(signal.SIGTERM)
        keeper.wait(DOWN_TIMEOUT)
        raise
    error = (keeper.stderr.read() if keeper.stderr else "").strip()
    kind = Misuse.exit_code if keeper.wait() == Misuse.exit_code else MachineError.exit_code
    if kind == Misuse.exit_code:
        what, _, fix = error.partition("\n  fix: ")
        raise Misuse(what, fix=fix)
    raise MachineError(error or f"the keeper ended while {said}")


def told(lab: Written) -> str:
    """A lab, for people: its nodes, and the lines that lead a `nomad` command to them."""
    state = (
        "up" if ledger.same(lab.harness) else "left by a harness that died: `stormpool down --all` undoes it"
    )
    whose = f"nomad {lab.nomad}" if lab.kept else "of a scenario"
    lines = [f"lab {lab.lab_id}: {whose}, {state}, run {lab.run_dir}"]
    lines += [f"  {node:10} export NOMAD_ADDR={address}" for node, address in lab.addresses.items()]
    return "\n".join(lines)


def chosen(lab_id: str | None) -> Written:
    """The lab of that id, or the only one that is up. Raises `Misuse` when there is none, or a choice.

    One that a harness has left which died is only meant where no other is there.
    """
    found = [lab for lab in ledger.labs() if lab_id in (None, lab.lab_id)]
    found = [lab for lab in found if ledger.same(lab.harness)] or found
    if len(found) == 1:
        return found[0]
    if not found:
        raise Misuse("no such lab is up", fix="see `stormpool status`; `stormpool up` brings one up")
    raise Misuse(f"{len(found)} labs are up", fix="say which: " + ", ".join(lab.lab_id for lab in found))


def execute(lab: Written, node: str, argv: Sequence[str]) -> None:
    """Become a command on a node."""
    words = entering(lab, node, argv)
    sys.stdout.flush()
    os.execvp(words[0], words)


def entering(lab: Written, node: str, argv: Sequence[str]) -> list[str]:
    """What runs a command on a node. Raises `Misuse` when the lab has no such node."""
    enter = _of(lab.nodes, node)
    return [*enter, shlex.join(argv)] if lab.by_line else [*enter, *argv]


def logs(lab: Written, node: str, *, follow: bool) -> None:
    """Become `tail` on the log of a node's agent."""
    _of(lab.nodes, node)
    how = ["--follow"] if follow else []
    os.execvp("tail", ["tail", "--lines=+1", *how, f"{lab.run_dir}/logs/{node}.log"])


def down(lab: Written) -> str:
    """End a lab and undo all it made; say what was done. One that a living harness runs is left to it."""
    if ledger.same(lab.harness):
        if not lab.kept:
            return f"lab {lab.lab_id} belongs to a run that goes on (process {lab.harness[0]}): left to it"
        processes.signal(lab.harness[0], signal.SIGTERM)
        wait_until("the keeper has ended", lambda: not ledger.same(lab.harness), timeout=DOWN_TIMEOUT)
        if lab.lab_id not in (each.lab_id for each in ledger.labs()):
            return f"lab {lab.lab_id} is down"
    if ledger.same(lab.init):
        processes.signal(lab.init[0] if lab.init else 0, signal.SIGKILL)
        wait_until("the lab's init is gone", lambda: not ledger.same(lab.init), timeout=DOWN_TIMEOUT)
    ledger.Entry.of(lab).undo()
    return f"lab {lab.lab_id}, left by a harness that died, is undone"


def _of(nodes: dict[str, list[str]], node: str) -> list[str]:
    if node not in nodes:
        raise Misuse(f"no node is named {node!r}", fix="name one of: " + ", ".join(nodes))
    return nodes[node]


def keep(wanted: Wanted) -> None:
    """Hold a lab until told to end it: the keeper's own process."""
    plugins = [csi.zfs()] if wanted.csi and wanted.clients else []
    lab = Lab(servers=wanted.servers, clients=wanted.clients, plugins=plugins)
    asked = Asked(lab=lab, scenario="by hand", nomad=wanted.nomad, out=wanted.out, provider=wanted.provider)
    stop = threading.Event()
    for each in (
        signal.SIGTERM,
        signal.SIGINT,
        signal.SIGHUP,
    ):  # not blocked: the lab's processes would be deaf
        signal.signal(each, lambda *_: stop.set())
    with running(asked, lambda _, what: print(what, flush=True)) as cluster:
        written = cluster.keep(
            {
                name: f"http://127.0.0.1:{forward.to_unix_socket(node.gate(4646))}"
                for name, node in cluster.nodes.items()
            }
        )
        print(msgspec.json.encode(written).decode(), flush=True)
        _fall_silent()
        stop.wait()


def _fall_silent() -> None:
    """Nobody reads this process's outputs any more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


if __name__ == "__main__":
    servers, clients, nomad, with_csi, provider, out = sys.argv[1:]
    try:
        keep(Wanted(int(servers), int(clients), nomad, with_csi == "1", provider, Path(out)))
    except (Misuse, MachineError) as failed:
        print(failed, file=sys.stderr)
        sys.exit(failed.exit_code)
