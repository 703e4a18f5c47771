"""The Vagrantfile without the lab: brought up as docs/machines.md says, with a libvirt of one's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stormpool import shell
from stormpool.programs import cache_home
from stormpool.providers.vagrant.machines import BOX, ENVIRONMENT, build_box
from stormpool.providers.vagrant.nest import Nest

pytestmark = pytest.mark.lab

MINE = {name: value for name, value in ENVIRONMENT.items() if name != "STORMPOOL_LAB"}
MINE |= {"XDG_CACHE_HOME": str(cache_home().parent)}  # where the box is, which is not in the lab's own home


@pytest.fixture
def libvirt() -> Iterator[Nest]:
    nest = Nest()
    yield nest
    nest.end()


def test_a_machine_with_a_pool(libvirt: Nest) -> None:
    def vagrant(*words: str) -> str:
        return shell.run(libvirt.inside(["vagrant", *words], MINE), timeout=300).stdout

    vagrant("box", "add", "--name", BOX, str(build_box(print)))
    vagrant("up", "client1")
    create = "sudo zpool create tank mirror /dev/mapper/disk1 /dev/mapper/disk2 && zpool list -Ho name,health"
    assert vagrant("ssh", "client1", "-c", create).split() == ["tank", "ONLINE"]
    assert "10.77.0.101" in vagrant("ssh", "client1", "-c", "ip address")
    vagrant("destroy", "--force", "client1")
    assert "client1" not in shell.run(libvirt.inside(["virsh", "list", "--all", "--name"], MINE)).stdout
