"""What a task is given: pipes for its output, variables, directories, mounts, a user."""

from __future__ import annotations

import secrets

from stormpool.conform.external.driver.bench import DriverBench
from stormpool.conform.external.driver.task import NAME, Task
from stormpool.conform.rule import Broken, NotOffered, rule
from stormpool.goplugin.device import Mount

LINES = 4000  # of output at once, of 50 characters: more than a pipe holds
DRIVER = "nomad plugins/drivers/driver.go TaskConfig"
IN_TASK = "/conform"  # where a mount is


@rule(source=f"{DRIVER} StdoutPath, StderrPath; client/logmon: named pipes")
def its_output(bench: DriverBench) -> None:
    """What a task says on each of its outputs comes out of the pipe for it, and of no other."""
    task = bench.made("echo to out; echo to err >&2; exit 0")
    task.start()
    task.must_say("to out\n")
    task.must_say("to err\n", "stderr")
    if "err" in task.said() or "out" in task.said("stderr"):
        raise Broken(f"stdout has {task.said()!r}, stderr {task.said('stderr')!r}")
    _end(task)


@rule(source=f"{DRIVER} StdoutPath; client/logmon/logmon.go")
def much_output(bench: DriverBench) -> None:
    """Nothing is lost of a task that says much and ends at once."""
    line = "-" * 50
    task = bench.made(
        f"n=0; while [ $n -lt {LINES} ]; do echo {line}; n=$((n+1)); done; echo the end; exit 0"
    )
    task.start()
    task.must_say("the end\n")
    if task.said().count(f"{line}\n") != LINES:
        raise Broken(f"{LINES} lines were said, {task.said().count(line)} came out")
    _end(task)


@rule(source=f"{DRIVER} Env; client/taskenv/env.go")
def its_variables(bench: DriverBench) -> None:
    """A task has the variables that it is given, as they are."""
    value = "two words = 'quoted' \"too\" $HOME"
    task = bench.made('echo "($GIVEN)"; exit 0', env={"GIVEN": value})
    task.start()
    task.must_say(f"({value})\n")
    _end(task)


@rule(
    source="nomad client/taskenv/env.go: NOMAD_ALLOC_DIR, NOMAD_TASK_DIR, NOMAD_SECRETS_DIR, by FSIsolation"
)
def its_directories(bench: DriverBench) -> None:
    """The directories that its variables name are the allocation's and its own, and it can write to them."""
    places = {
        "NOMAD_ALLOC_DIR": "alloc",
        "NOMAD_TASK_DIR": f"{NAME}/local",
        "NOMAD_SECRETS_DIR": f"{NAME}/secrets",
    }
    task = bench.made("".join(f'echo {name} >"${name}/written"; ' for name in places) + "echo done; exit 0")
    task.start()
    task.must_say("done")
    for name, place in places.items():
        path = f"{task.directory}/{place}/written"
        found = bench.node.run(["cat", path], check=False)
        if found.stdout.strip() != name:
            raise Broken(f"what it wrote to ${name} is not in {path}; it said {task.said('stderr')[-200:]!r}")
    _end(task)


@rule(source=f"{DRIVER} Mounts; client/allocrunner/taskrunner/volume_hook.go, device_hook.go")
def a_mount(bench: DriverBench) -> None:
    """A mount is the node's directory, for reading and writing, and is gone once the task is."""
    task, source = _mounted(bench, readonly=False)
    if bench.node.run(["cat", f"{source}/new"], check=False).stdout != "new\n":
        raise Broken(f"what was written to the mount is not in {source}; it said {task.said('stderr')!r}")
    _end(task)
    left = bench.mounts_left()
    if left:
        raise Broken(f"still mounted once it was destroyed: {', '.join(left)}")


@rule(source=f"{DRIVER} Mounts; MountConfig.Readonly")
def a_mount_to_read(bench: DriverBench) -> None:
    """A mount that is to be read can be read, and not written to."""
    task, source = _mounted(bench, readonly=True)
    if bench.node.run(["test", "-e", f"{source}/new"], check=False).code == 0:
        raise Broken(f"it wrote to {source}, which was given to be read")
    _end(task)


@rule(source=f"{DRIVER} User")
def its_user(bench: DriverBench) -> str:
    """A task runs as the user it is to run as."""
    if not bench.task.user:
        raise NotOffered("no user was named: say one with --user")
    wanted = bench.node.run(["id", "-u", bench.task.user]).stdout.strip()
    task = bench.made('echo "uid $(id -u)"; exit 0', user=bench.task.user)
    task.start()
    task.must_say("uid ")
    if f"uid {wanted}\n" not in task.said():
        raise Broken(f"it ran as {task.said().strip()}, and {bench.task.user} is {wanted}")
    _end(task)
    return f"as {bench.task.user}"


def _mounted(bench: DriverBench, *, readonly: bool) -> tuple[Task, str]:
    """A task that reads a file of a mount and tries to write another; the directory that is mounted."""
    if not bench.can.mounts:
        raise NotOffered("the driver says that its tasks can have no mounts")
    text, source = secrets.token_hex(4), f"{bench.directory}/source-{secrets.token_hex(4)}"
    bench.node.write(f"{source}/file", f"{text}\n")
    task = bench.made(
        f"cat {IN_TASK}/file; echo new >{IN_TASK}/new; echo done; exit 0",
        mounts=(Mount(IN_TASK, source, readonly),),
    )
    task.start()
    task.must_say("done")
    if f"{text}\n" not in task.said():
        raise Broken(f"{source} is not at {IN_TASK}: {task.said('stderr')[-200:].strip()!r}")
    return task, source


def _end(task: Task) -> None:
    task.wait()
    task.destroy()
    task.must_be_gone("destroyed")


RULES = (its_output, much_output, its_variables, its_directories, a_mount, a_mount_to_read, its_user)
