"""Becomes a node's init, in namespaces nested in the lab's: builds the node's root, then hands over to tini.

    python -I -S node_init.py NAME ADDRESS DATA_DIR [CGROUP ...]

The node's root file system is a tmpfs with one overlay a top-level directory of the host: everything on the
host can be read and run at its own path, everything may be written, and nothing written reaches the host. One
overlay a directory, because an unprivileged user namespace may not clone "/" with the mounts locked on it.
What is written outlives the node's crash, as a disk does, and goes with the lab. Only the standard library,
and system calls rather than commands: a lab's start is the sum of these.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import socket
import struct
import sys
from pathlib import Path

LAB = Path("/run/lab")
LAST_PID = Path("/lab/disk/last-pid")
MS_BIND, MS_REC, MS_SHARED = 4096, 16384, 1 << 20  # mount(2)
MNT_DETACH = 2  # umount2(2)
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}  # system call numbers; the C library has no wrapper
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = 442, -100, 0x8000, 1  # mount_setattr(2)
EVERY_UID = 4294967295  # the length of the first user namespace's only range (user_namespaces(7))

libc = ctypes.CDLL(None, use_errno=True)


def call(result: int, what: str) -> None:
    """Raise what a system call failed with."""
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def mount(source: str, target: Path, kind: str = "", flags: int = 0, options: str = "") -> None:
    """mount(2)."""
    words = (source, str(target), kind)
    call(libc.mount(*(word.encode() for word in words), flags, options.encode()), f"mount {' '.join(words)}")


def bind(source: str | Path, target: Path) -> None:
    """Mount a directory, with all mounted in it, at a second place."""
    target.mkdir(parents=True, exist_ok=True)
    mount(str(source), target, flags=MS_BIND | MS_REC)


def has_every_uid() -> bool:
    """Whether this user namespace maps all users, as the first one does, or only the one who made it."""
    return int(Path("/proc/self/uid_map").read_text().split()[2]) == EVERY_UID


def overlay(lower: str, target: Path, disk: Path) -> None:
    """Show a directory of the host, with what the node writes kept on its disk."""
    upper, work = disk / "upper" / target.name, disk / "work" / target.name
    for directory in (upper, work):
        directory.mkdir(parents=True, exist_ok=True)
    shutil.copystat(lower, upper)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    if not has_every_uid():
        options += ",userxattr"
    mount("overlay", target, "overlay", 0, options)


def build_root(root: Path, disk: Path) -> None:
    """Make the node's root file system from the host's."""
    mount("root", root, "tmpfs", 0, "mode=755")
    for entry in os.scandir("/"):
        target = root / entry.name
        if entry.is_symlink():
            target.symlink_to(Path(entry.path).readlink())
        elif entry.is_dir() and entry.name != "lost+found":
            target.mkdir()
            if entry.name in ("dev", "sys"):
                bind(entry.path, target)
            elif entry.name not in ("proc", "run"):
                show(entry.path, target, disk)
    mount("proc", root / "proc", "proc")
    mount("run", root / "run", "tmpfs", 0, "mode=755")
    for name in ("lock", "tmp"):
        (root / "run" / name).mkdir()


def show(path: str, target: Path, disk: Path) -> None:
    """Show one directory; read-only where mounts are locked on it, for it cannot be a lower layer then."""
    try:
        overlay(path, target, disk)
    except OSError:
        show_read_only(path, target)
        return
    # An overlay shows nothing of what is mounted below its lower layer.
    for below in mounted_below(path):
        show_read_only(below, target / below.removeprefix(f"{path}/"))


def show_read_only(path: str, target: Path) -> None:
    """Show what is at a path, with all that is mounted in it; what cannot be shown is left out."""
    try:
        mount(path, target, flags=MS_BIND | MS_REC)
    except OSError as error:
        print(f"not shown on this node: {error}", file=sys.stderr)
        return
    read_only = struct.pack("QQQQ", MOUNT_ATTR_RDONLY, 0, 0, 0)
    size = len(read_only)
    done = libc.syscall(MOUNT_SETATTR, AT_FDCWD, str(target).encode(), AT_RECURSIVE, read_only, size)
    call(done, f"make {target} read-only")


def mounted_below(path: str) -> list[str]:
    """What the host has mounted directly below a directory, not below another of these."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = sorted({line.split()[4].encode().decode("unicode_escape") for line in lines})
    found: list[str] = []
    for point in points:
        if point.startswith(f"{path}/") and not any(point.startswith(f"{other}/") for other in found):
            found.append(point)
    return found


def name_users(root: Path, disk: Path) -> None:
    """Give every user name an agent knows the one id there is: it could not give files to another."""
    for file, lines in (
        ("passwd", "root:x:0:0::/:\nnobody:x:0:0::/:\n"),
        ("group", "root:x:0:\nnogroup:x:0:\n"),
    ):
        (disk / file).write_text(lines)
        mount(str(disk / file), root / "etc" / file, flags=MS_BIND)


def enter(root: Path) -> None:
    """Make `root` the root of this mount namespace, and let go of the old one."""
    os.chdir(root)
    number = PIVOT_ROOT[os.uname().machine]
    call(libc.syscall(number, b".", b"."), "pivot_root")
    call(libc.umount2(b".", MNT_DETACH), "umount the old root")
    os.chdir("/")
    # As an init system leaves it (mount_namespaces(7)): a container's copy follows what is unmounted here.
    mount("", Path("/"), flags=MS_SHARED | MS_REC)


def plug_in(address: str) -> None:
    """Set up the network card."""
    reading, writing = os.pipe()
    os.write(writing, f"link set lo up\naddress add {address}/24 dev eth0\nlink set eth0 up\n".encode())
    os.close(writing)
    first = [(os.POSIX_SPAWN_DUP2, reading, 0)]
    ip = os.posix_spawnp("ip", ["ip", "-batch", "-"], dict(os.environ), file_actions=first)
    if os.waitpid(ip, 0)[1] != 0:
        raise SystemExit("the network card cannot be set up")


def go_on_counting() -> None:
    """Give no process a pid that one had before the node's crash.

    Agents SIGKILL, by pid alone, what they started before and cannot reach now (go-plugin 1.4 to 1.6);
    among so few processes that would soon hit the agent itself, and the lab's own.
    """
    if LAST_PID.exists():
        with contextlib.suppress(OSError):  # a kernel without CONFIG_CHECKPOINT_RESTORE
            Path("/proc/sys/kernel/ns_last_pid").write_text(LAST_PID.read_text())


def main() -> None:
    """Build, enter, wait for the network card, become tini."""
    name, address, data, *cgroups = sys.argv[1:]
    disk, root = LAB / "disks" / name, LAB / "roots" / name
    socket.sethostname(name)
    for directory in (disk / "data", disk / "zfs", root):
        directory.mkdir(parents=True, exist_ok=True)
    build_root(root, disk)
    bind(LAB / "door", root / "lab/door")
    bind(LAB / "cloud", root / "lab/cloud")
    bind(disk, root / "lab/disk")
    bind(disk / "data", root / data.lstrip("/"))
    bind(disk / "zfs", root / "var/lib/zfs")
    for cgroup in cgroups:
        bind(cgroup, root / cgroup.rpartition("/stormpool/")[0].lstrip("/"))
    if not has_every_uid():
        name_users(root, disk)
    enter(root)
    print("up", flush=True)
    sys.stdin.readline()  # the harness says when the network card is there
    plug_in(address)
    go_on_counting()
    print("ready", flush=True)
    os.execvp("tini", ["tini", "-s", "--", "sleep", "infinity"])


main()
