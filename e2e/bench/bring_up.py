"""Bringing a lab of 3 servers and 3 clients with pools up, against a bare script of the same processes.

    python e2e/bench/bring_up.py [--runs N] [--nomad VERSION] [--json]

The bare script makes the same namespaces, links, daemons, pools and agents with the same configuration, and
nothing around them: no roots of their own, no cgroups, no ledger, no history, no clean-up but the end of its
init. Both end when there is a leader and every client is ready; they alternate.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from figures import show
from stormpool.agents import build
from stormpool.agents.nomad import Terms, config
from stormpool.lab import Lab, NodeSpec, Role
from stormpool.providers.addresses import address_of
from stormpool.runner import Asked, running

GOAL = 1.3  # the lab's time over the bare script's

LAB = Lab(servers=3, clients=3)
API = "http://10.77.0.1:4646/v1"
UNSHARE = "unshare --net --mount --pid --fork --mount-proc --propagation private"


class Spec:
    """What a configuration needs to know of a node."""

    def __init__(self, spec: NodeSpec) -> None:
        self.spec = spec
        self.address = address_of(spec)


def bare_script(directory: Path, nomad: Path) -> str:
    """The shell script: everything the lab starts, and no more."""
    servers = [address_of(spec) for spec in LAB.nodes() if spec.role is Role.SERVER]
    lines = [
        "set -e",
        "mount -t tmpfs run /run",
        "mkdir -p /run/nodes",
        "ip link set lo up; ip link add lab0 type bridge",
        "ip link set lab0 up; ip addr add 10.77.0.254/24 dev lab0",
    ]
    for spec in LAB.nodes():
        here = directory / spec.name
        here.mkdir(parents=True)
        settings = config(LAB, Spec(spec), servers, Terms("1.6.1"))  # type: ignore[arg-type]
        settings["data_dir"] = f"/run/nodes/{spec.name}"
        (here / "agent.json").write_text(json.dumps(settings))
        inner = f"""
            mkdir -p /run/lock /run/nodes/{spec.name}/zfs; mount -t tmpfs t /run/lock
            ip link set lo up; ip addr add {address_of(spec)}/24 dev eth0; ip link set eth0 up
            [ ! -e {here}/pool ] || (
                mount -t tmpfs t /var/lib/zfs; mkdir -p /run/zfs; mount -t tmpfs t /run/zfs
                zfs-fuse --no-daemon --no-kstat-mount --max-arc-size 16 >/dev/null 2>&1 &
                until zpool list >/dev/null 2>&1; do sleep 0.02; done
                truncate -s 128M /run/nodes/{spec.name}/tank.img
                zpool create -m /run/nodes/{spec.name}/tank tank /run/nodes/{spec.name}/tank.img
                touch {here}/pooled
            ) &
            exec {nomad} agent -config={here}/agent.json >{here}/log 2>&1
        """
        (here / "start.sh").write_text(inner)
        if spec.role is Role.CLIENT:
            (here / "pool").touch()
            lines.append(f"until curl -s --max-time 1 {API}/status/leader >/dev/null; do sleep 0.02; done")
        lines += [
            f"{UNSHARE} --uts sh -c 'read _ <{here}/go; exec sh {here}/start.sh' &",
            "children=/proc/$!/task/$!/children",
            'until init=$(cat $children 2>/dev/null) && [ -n "$init" ]; do sleep 0.001; done',
            f"ip link add {spec.name} type veth peer name eth0 netns $init",
            f"ip link set {spec.name} master lab0 up",
            f"echo >{here}/go",
        ]
    ready = f'curl -s {API}/nodes | grep -o \'"Status":"ready"\' | wc -l'
    lines.append(f'until [ "$({ready})" = {LAB.clients} ]; do sleep 0.05; done')
    for spec in LAB.nodes():
        if spec.role is Role.CLIENT:
            lines.append(f"until [ -e {directory}/{spec.name}/pooled ]; do sleep 0.02; done")
    lines.append("echo up")
    return "\n".join(lines)


def bare(nomad: Path) -> float:
    """Seconds the bare script takes."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        (directory / "script.sh").write_text(bare_script(directory, nomad))
        for spec in LAB.nodes():
            subprocess.run(["mkfifo", str(directory / spec.name / "go")], check=True)
        began = time.monotonic()
        with subprocess.Popen(
            [*UNSHARE.split(), "--kill-child", "sh", str(directory / "script.sh")],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as lab:
            assert lab.stdout is not None
            said = lab.stdout.readline()
            spent = time.monotonic() - began
            lab.kill()
        assert said == "up\n", "the bare script did not come up"
        return spent


def lab(nomad: str, out: Path) -> float:
    """Seconds a lab takes, as a scenario gets it."""
    began = time.monotonic()
    with running(Asked(lab=LAB, scenario="bench", nomad=nomad, out=out)):
        return time.monotonic() - began


def main() -> None:
    """Alternate, and compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--nomad", default="1.6.1")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    program = build.resolve(asked.nomad).path
    pairs = []
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(asked.runs + 1):
            pair = (lab(asked.nomad, Path(scratch)), bare(program))
            if turn:  # the first is a warm-up
                pairs.append(pair)
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    result = {
        "runs": asked.runs,
        "lab_s": statistics.median(ours for ours, _ in pairs),
        "bare_s": statistics.median(theirs for _, theirs in pairs),
        "ratio": statistics.median(ratios),
        "ratio_min": ratios[0],
        "ratio_max": ratios[-1],
        "goal_ratio": GOAL,
    }
    show(result, as_json=asked.json)


if __name__ == "__main__":
    main()
