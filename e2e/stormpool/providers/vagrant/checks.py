"""What this host must have to run labs of machines."""

from __future__ import annotations

import os
from pathlib import Path

from stormpool import shell
from stormpool.providers.checks import Check, command
from stormpool.providers.vagrant.machines import VAGRANT, accelerator

# Command → the Debian package it comes in.
COMMANDS = {
    "vagrant": "vagrant vagrant-libvirt",
    "libvirtd": "libvirt-daemon libvirt-daemon-driver-qemu",
    "virsh": "libvirt-clients",
    "qemu-system-x86_64": "qemu-system-x86",
    "dnsmasq": "dnsmasq-base",
    "nbdkit": "nbdkit",
    "iptables": "iptables",  # libvirt makes no network without it
    "ssh": "openssh-client",
    "mke2fs": "e2fsprogs",
    "unshare": "util-linux",
    "tini": "tini",
}
# What the box is built with.
BUILD = {"mmdebstrap": "mmdebstrap", "qemu-img": "qemu-utils", "cpio": "cpio", "xz": "xz-utils"}
PLUGIN = Path("/usr/share/vagrant-plugins/plugins.d/vagrant-libvirt.json")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")  # that packages are checked by


def required() -> list[Check]:
    """What no lab of machines can do without."""
    return [
        *(
            command(name, f"--no-install-recommends {package}")
            for name, package in (COMMANDS | BUILD).items()
        ),
        _libvirt(),
        _keyring(),
        _root(),
    ]


def all_checks() -> list[Check]:
    """Everything, with what is made when it is first asked for."""
    return [
        *(Check(f"machines: {each.what}", each.well, each.found, each.mend) for each in required()),
        _box(),
    ]


def _box() -> Check:
    """The box, and what runs it here."""
    box = Path(shell.run([str(VAGRANT / "box" / "build"), "--where"]).stdout.strip())
    mend = "vagrant/box/build (5 minutes; or it is built when first asked for)"
    if not box.exists():
        return Check("machines: box", False, "not built yet", mend)
    return Check("machines: box", True, f"{box}, runs under {accelerator(lambda _: None)}", mend)


def _libvirt() -> Check:
    """Vagrant's plugin, as the distribution has it: vagrant may be somebody else's."""
    mend = "apt-get install --no-install-recommends vagrant vagrant-libvirt"
    there = PLUGIN.exists()
    return Check("vagrant-libvirt", there, str(PLUGIN) if there else f"{PLUGIN} is missing", mend)


def _keyring() -> Check:
    there = KEYRING.exists()
    mend = "apt-get install debian-archive-keyring"
    return Check("Debian's keys", there, str(KEYRING) if there else f"{KEYRING} is missing", mend)


def _root() -> Check:
    mine = os.geteuid() == 0
    return Check("root", mine, "root" if mine else "an ordinary user", "run as root: libvirt makes networks")
