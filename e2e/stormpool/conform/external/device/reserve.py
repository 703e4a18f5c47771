"""Reserving devices for tasks."""

from __future__ import annotations

import re
import stat
import time
from functools import partial

from stormpool.conform.external.asking import Refused
from stormpool.conform.external.device.bench import DeviceBench, healthy_of, shape
from stormpool.conform.rule import Broken, rule
from stormpool.goplugin.device import Reservation
from stormpool.goplugin.process import RPC_TIMEOUT

SERVER = "nomad plugins/device/server.go Reserve"
HOOK = "nomad client/allocrunner/taskrunner/device_hook.go Prestart"
AT_ONCE = 4  # of the same device
NO_ID = "stormpool-knows-no-such-device"


@rule(source=f"{HOOK}: the task waits, without a deadline")
def one_device(bench: DeviceBench) -> str:
    """One device can be reserved, within half a minute."""
    began = time.monotonic()
    made = bench.ask.reserve(*bench.some(1))
    took = time.monotonic() - began
    found = f"{len(made.env)} variables, {len(made.mounts)} mounts, {len(made.devices)} special files"
    return f"in {took:.3f} s (at most {RPC_TIMEOUT:g} are waited for): {found}"


@rule(source=f"{HOOK}: all ids of a group in one call")
def several_devices(bench: DeviceBench) -> None:
    """Several devices of a group can be reserved in one call."""
    bench.ask.reserve(*bench.some(2))


@rule(source="nomad scheduler/device.go createOffer, issue 18364: an allocation may have been given none")
def no_devices(bench: DeviceBench) -> str:
    """A call for no device is answered, whether OK or by an error, and the plugin lives."""
    bench.some(1)
    try:
        bench.ask.reserve()
    except Refused as refused:
        bench.ask.info()
        return str(refused)
    return "answered OK"


@rule(source=f"{HOOK}; nomad plugins/device/cmd/example Reserve: InvalidArgument")
def an_unknown_device(bench: DeviceBench) -> None:
    """An id that it does not know is refused by an error, beside one that it knows as well."""
    known = bench.some(1)
    for ids in ([NO_ID], [*known, NO_ID]):
        try:
            bench.ask.reserve(*ids)
        except Refused:
            bench.ask.info()
        else:
            raise Broken(f"Reserve of {', '.join(ids)} was answered OK")


@rule(source=f"{HOOK}: again when the agent ended before the hook was done; there is no call that gives back")
def reserved_again(bench: DeviceBench) -> None:
    """A device that was reserved can be again: a task finds the same variables, mounts, special files."""
    ids = bench.some(1)
    first = bench.ask.reserve(*ids)
    must_be_alike(first, bench.ask.reserve(*ids), "reserved twice")


@rule(source="nomad devicemanager/manager.go Reserve: no lock; tasks start side by side")
def reserved_at_once(bench: DeviceBench) -> None:
    """Different devices at once, and one several times at once, come to what each comes to alone."""
    ids = bench.healthy()[: 2 * AT_ONCE] if bench.some(1) else []
    alone = {id: bench.ask.reserve(id) for id in ids}
    asked = [*ids, *ids[:1] * (AT_ONCE - 1)]
    for id, made in zip(asked, bench.at_once([partial(bench.ask.reserve, id) for id in asked]), strict=True):
        must_be_alike(alone[id], made, f"{id} among {len(asked)} at once")


@rule(source="nomad plugins/device/device.go Mount; client/taskrunner: handed to the driver as they are")
def mounts_are_there(bench: DeviceBench) -> str:
    """Each mount is a file or directory of the node, and has an absolute path in the task."""
    made = _reserve_each(bench)
    for mount in made.mounts:
        if not (mount.host.startswith("/") and mount.task.startswith("/")):
            raise Broken(f"{mount.host!r} at {mount.task!r}: no absolute paths")
        if not is_there(bench, mount.host):
            raise Broken(f"{mount.host} is not there")
    return f"{len(made.mounts)} mounts"


@rule(source="nomad plugins/device/device.go DeviceSpec: CgroupPerms")
def special_files_are_there(bench: DeviceBench) -> str:
    """Each special file is one of the node's, and is given with permissions of r, w and m."""
    made = _reserve_each(bench)
    for special in made.devices:
        said = bench.node.run(["stat", "-L", "-c", "%f", special.host], check=False).stdout.strip()
        mode = int(said or "0", 16)
        if not (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)):
            raise Broken(f"{special.host} is no special file of the node")
        if not re.fullmatch("[rwm]+", special.permissions):
            raise Broken(f"{special.host} is given with permissions {special.permissions!r}")
    return f"{len(made.devices)} special files"


@rule(source="nomad plugins/device/device.go ContainerReservation.Envs; environ(7)")
def variables_have_names(bench: DeviceBench) -> str:
    """Each variable has a name, without = or NUL."""
    made = _reserve_each(bench)
    wrong = [name for name in made.env if not name or re.search("[=\0]", name)]
    if wrong:
        raise Broken(f"variables named {wrong}")
    return ", ".join(made.env) or "none"


@rule(
    source="nomad nomad/structs/devices.go AddAllocs: what is not told of is not counted, and comes back free"
)
def what_is_reserved_is_told_of(bench: DeviceBench) -> None:
    """A device that was reserved is still told of, by the same id, by a process that starts then as well."""
    before = set(bench.ids())
    bench.ask.reserve(*bench.some(1))
    bench.come_back()
    gone = before - set(bench.ids())
    if gone:
        raise Broken(f"not told of any more: {', '.join(sorted(gone))}")


def must_be_alike(first: Reservation, second: Reservation, when: str) -> None:
    """Raise `Broken` where a task would find something else."""
    if shape(first) != shape(second):
        raise Broken(f"{when}: at first {first}, and then {second}"[:600])


def is_there(bench: DeviceBench, path: str) -> bool:
    """Whether a file or directory of the node is there."""
    return bench.node.run(["test", "-e", path], check=False).code == 0


def _reserve_each(bench: DeviceBench) -> Reservation:
    """What is reserved with the first healthy device of each group, together."""
    bench.some(1)
    first = [id for group in bench.groups() for id in healthy_of(group)[:1]]
    made = [bench.ask.reserve(id) for id in first]
    return Reservation(
        {name: value for each in made for name, value in each.env.items()},
        tuple(mount for each in made for mount in each.mounts),
        tuple(special for each in made for special in each.devices),
    )


RULES = (
    one_device,
    several_devices,
    no_devices,
    an_unknown_device,
    reserved_again,
    reserved_at_once,
    mounts_are_there,
    special_files_are_there,
    variables_have_names,
    what_is_reserved_is_told_of,
)
