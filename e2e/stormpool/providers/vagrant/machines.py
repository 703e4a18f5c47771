"""The machines of a lab, as vagrant and libvirt know them: brought up, cut off, started, set back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from stormpool import shell
from stormpool.errors import MachineError
from stormpool.programs import FIXTURES
from stormpool.providers.vagrant.nest import HOME, Nest

VAGRANT = FIXTURES.parent / "vagrant"
BOX = "stormpool"
ENVIRONMENT = {
    "HOME": HOME,
    "VAGRANT_HOME": f"{HOME}/vagrant",
    "VAGRANT_DOTFILE_PATH": f"{HOME}/machines",
    "VAGRANT_CWD": str(VAGRANT),
    "VAGRANT_DEFAULT_PROVIDER": "libvirt",
    "VAGRANT_NO_COLOR": "1",
    "VAGRANT_CHECKPOINT_DISABLE": "1",
    "STORMPOOL_LAB": f"{HOME}/lab.json",
    "LIBVIRT_DEFAULT_URI": "qemu:///system",
}
KEY = f"{HOME}/vagrant/insecure_private_key"  # that every box of vagrant's is opened with
UP_TIMEOUT = 300.0  # seconds until all machines are up: 40 for three of them, emulated, 90 for six
SETTLED = "settled"  # what the one copy of a machine is called
STEP_TIMEOUT = 120.0  # seconds for one step of vagrant's or libvirt's

Told = Callable[[str], None]


def build_box(told: Told) -> Path:
    """The box, built if it is not there. Raises `CommandFailed` with what the build said last."""
    argv = [str(VAGRANT / "box" / "build")]
    return Path(shell.follow(argv, lambda line: told(f"building the box: {line}")).strip())


def accelerator(told: Told) -> str:
    """What machines run under: kvm where the box boots with it, else qemu, which is said."""
    tried = shell.run([str(VAGRANT / "box" / "accelerator")], timeout=60)
    if tried.stderr.strip():
        told(tried.stderr.strip())
    return tried.stdout.strip()


class Machines:
    """All machines of one lab."""

    def __init__(self, nest: Nest, asked: dict[str, Any]) -> None:
        self.names = tuple(asked["nodes"])
        self._nest = nest
        (nest.home / "lab.json").write_text(json.dumps(asked))

    def up(self, box: Path, told: Told) -> dict[str, str]:
        """Bring them up with vagrant; return the address of each on the way in."""
        self._vagrant("box", "add", "--name", BOX, str(box))
        # It tells of its progress on its standard output.
        bounded = ["sh", "-c", 'exec timeout "$@" >&2', "sh", str(UP_TIMEOUT), "vagrant", "up", "--parallel"]
        with (self._nest.home / "vagrant.log").open("w") as log:

            def tell(line: str) -> None:
                print(line, file=log)
                if line.startswith("==> ") and line.endswith(("...", "!")):  # else it tells of settings
                    told(line.removeprefix("==> "))

            shell.follow(self._nest.inside(bounded, ENVIRONMENT), tell, where="the lab")
        return _addresses(self._vagrant("ssh-config").stdout)

    def _vagrant(self, *words: str) -> shell.Completed:
        argv = self._nest.inside(["vagrant", *words], ENVIRONMENT)
        return shell.run(argv, where="the lab", timeout=STEP_TIMEOUT)

    def cut_power(self, name: str) -> None:
        """End a machine at once, as a power cut does: what was only in its memory is gone."""
        self._virsh("destroy", _domain(name))

    def power_on(self, name: str) -> None:
        """Start a machine that is off."""
        self._virsh("start", _domain(name))

    def copy(self, beside: Callable[[], object]) -> None:
        """Keep all of them as they are at one moment: memory, processor, disks. `beside`: done meanwhile."""
        self._while_they_stand("savevm", beside)

    def set_back(self, beside: Callable[[], object]) -> None:
        """Have all of them as they were when they were copied; packets on their way then are lost."""
        self._while_they_stand("loadvm", beside)

    def _while_they_stand(self, said: str, beside: Callable[[], object]) -> None:
        """Say something about the copy to each monitor while no machine runs."""
        self.each(self.names, lambda name: self._virsh("suspend", _domain(name)))
        self.each(self.names, lambda name: self.monitor(name, said, SETTLED))
        beside()
        self.each(self.names, lambda name: self._virsh("resume", _domain(name)))

    def monitor(self, name: str, *words: str) -> str:
        """Say something to a machine's monitor, and return the answer. Raises `MachineError` for an error."""
        said = self._virsh("qemu-monitor-command", _domain(name), "--hmp", " ".join(words)).stdout.strip()
        if said.startswith("Error"):
            raise MachineError(f"{name}: {' '.join(words)}: {said}")
        return said

    def each(self, names: Iterable[str], act: Callable[[str], object]) -> None:
        """Do something with several machines at once."""
        chosen = tuple(names)
        with ThreadPoolExecutor(max(1, len(chosen)), thread_name_prefix="machine") as threads:
            list(threads.map(act, chosen))

    def _virsh(self, *words: str) -> shell.Completed:
        argv = self._nest.inside(["virsh", "--quiet", *words], ENVIRONMENT)
        return shell.run(argv, where="the lab", timeout=STEP_TIMEOUT)


def _domain(name: str) -> str:
    """What libvirt calls a machine: vagrant puts the directory's name before it."""
    return f"{VAGRANT.name}_{name}"


def _addresses(config: str) -> dict[str, str]:
    """Machine → address, from `vagrant ssh-config`."""
    found: dict[str, str] = {}
    name = ""
    for line in config.splitlines():
        word, _, value = line.strip().partition(" ")
        if word == "Host":
            name = value
        elif word == "HostName":
            found[name] = value
    return found
