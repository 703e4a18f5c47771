"""What the tap adds to a call on a unix socket, against the same plugin without it, interleaved in one run.

    python e2e/bench/tap.py [--calls N] [--json]

The plugin is a gRPC server that answers at once, in a process of its own. So are, as in a lab, the tap and
the collector, which parses all it tells and writes it into a history. Three times: as it is, with a fault
planned at calls of another method (the connection has a relay), and at calls of this one (each stops twice,
and the harness is asked).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc

from figures import quantile, show
from stormpool import stubs

GOAL = 100.0  # microseconds added to the median
WARM_UP = 300  # calls of each kind that are not counted
RULES = {
    "": "",
    "relay_": "NodeStageVolume",
    "held_": "ControllerPublishVolume",
}  # the method that is watched

PLUGIN = """
import sys
from concurrent.futures import ThreadPoolExecutor
import grpc
from stormpool import stubs
pb, rpc = stubs.load("csi", "csi_pb2"), stubs.load("csi", "csi_pb2_grpc")
class Controller(rpc.ControllerServicer):
    def ControllerPublishVolume(self, request, context):
        return pb.ControllerPublishVolumeResponse(publish_context={"slot": "xvdb"})
server = grpc.server(ThreadPoolExecutor(4))
rpc.add_ControllerServicer_to_server(Controller(), server)
server.add_insecure_port(f"unix:{sys.argv[1]}")
server.start()
server.wait_for_termination()
"""

COLLECTOR = """
import sys
import threading
from pathlib import Path
from stormpool import stubs
from stormpool.store import Recorder
from stormpool.tap.collector import Collector, HeldCall
from stormpool.tap.messages import Protocol
recorder = Recorder(Path(sys.argv[2]))
collector = Collector(sys.argv[1], Protocol(stubs.services("csi")), recorder)
if sys.argv[3]:
    collector.hold([sys.argv[3]], HeldCall.go_on)
print("up", flush=True)
threading.Event().wait()
"""
HELLO = '{"plugin": "bench", "node": "client1"}'


def stub(path: Path) -> Any:
    """A client of a socket, connected."""
    channel = grpc.insecure_channel(f"unix:{path}")
    grpc.channel_ready_future(channel).result(20)
    return stubs.load("csi", "csi_pb2_grpc").ControllerStub(channel)


def measure(directory: Path, calls: int, watched: str) -> tuple[list[float], list[float]]:
    """Microseconds of each call, without the tap and with it, when calls of a method are held."""
    plugin, tapped, told = (directory / name for name in ("plugin.sock", "csi.sock", "report.sock"))
    tap = [sys.executable, "-m", "stormpool.tap.proxy", "--hello", HELLO]
    sockets = ["--listen", str(tapped), "--plugin", str(plugin), "--report", str(told)]
    collector = subprocess.Popen(
        [sys.executable, "-c", COLLECTOR, str(told), str(directory / "history.jsonl"), watched],
        stdout=subprocess.PIPE,
    )
    assert collector.stdout is not None
    collector.stdout.readline()
    processes = [
        collector,
        subprocess.Popen([sys.executable, "-c", PLUGIN, str(plugin)]),
        subprocess.Popen([*tap, *sockets]),
    ]
    try:
        request = stubs.load("csi", "csi_pb2").ControllerPublishVolumeRequest(
            volume_id="v1", node_id="client1"
        )
        request.volume_capability.access_mode.mode = 1
        direct, through = stub(plugin), stub(tapped)
        spent: dict[Any, list[float]] = {direct: [], through: []}
        for _ in range(WARM_UP + calls):
            for each in (direct, through):
                began = time.perf_counter()
                each.ControllerPublishVolume(request)
                spent[each].append((time.perf_counter() - began) * 1e6)
        told_of = (directory / "history.jsonl").read_bytes().count(b'"kind":"reply"')
        assert told_of > calls, f"the collector told of {told_of} replies only"
        return spent[direct][WARM_UP:], spent[through][WARM_UP:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def main() -> None:
    """Measure, and say what the tap adds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    result: dict[str, float] = {"calls": asked.calls}
    for rule, watched in RULES.items():
        with tempfile.TemporaryDirectory() as scratch:
            direct, through = measure(Path(scratch), asked.calls, watched)
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            result[f"{rule}direct_{name}_us"] = quantile(direct, share)
            result[f"{rule}tap_{name}_us"] = quantile(through, share)
            result[f"{rule}added_{name}_us"] = quantile(through, share) - quantile(direct, share)
        result[f"{rule}ratio_p50"] = result[f"{rule}tap_p50_us"] / result[f"{rule}direct_p50_us"]
    result["goal_added_p50_us"] = GOAL
    show(result, as_json=asked.json)


if __name__ == "__main__":
    main()
