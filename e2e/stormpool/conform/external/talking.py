"""Talking to a plugin: many calls at once, calls that it does not know, streams that come and go."""

from __future__ import annotations

import json
from typing import Any

import grpc
from google.protobuf import empty_pb2

from stormpool.conform.external.asking import Refused, asked
from stormpool.conform.external.bench import Bench
from stormpool.conform.external.plugin import Instance
from stormpool.conform.rule import Broken, Rule, rule
from stormpool.goplugin.listening import Listening
from stormpool.goplugin.protos import stdio_rpc

CALLS = 200  # of one kind, as many at once as the bench can
STREAMS = 30  # opened and cancelled, one after another
LISTENED = 0.5  # seconds
OPEN_FOR = 2.0  # seconds that a stream goes on at least
BASE = "hashicorp.nomad.plugins.base.proto.BasePlugin"
FIELDS = ("@message", "@level", "@timestamp")


@rule(source="nomad client/allocrunner: a goroutine a task; go-plugin GRPCServer: no bound of its own")
def many_calls_at_once(bench: Bench[Any]) -> None:
    """Many calls at once are all answered, and the same."""
    answers = set(bench.at_once([bench.ask.info] * CALLS))
    if len(answers) != 1:
        raise Broken(f"{CALLS} at once were answered differently: {answers}")


def unknown(what: str, method: str) -> Rule[Bench[Any]]:
    """It is asked what it does not know."""

    @rule(source="gRPC status codes; nomad adds calls: plugins/drivers/client.go, go-plugin broker", of=what)
    def it_says_what_it_does_not_know(bench: Bench[Any]) -> None:
        """A call that it does not know is answered UNIMPLEMENTED: later agents may make one."""
        ask: Any = bench.main.plugin.channel.unary_unary(method)
        try:
            with asked(method):
                ask(b"", timeout=5.0)
        except Refused as refused:
            if refused.code != "UNIMPLEMENTED":
                raise
        else:
            raise Broken("it was answered OK")

    return it_says_what_it_does_not_know


@rule(source="go-plugin grpc_client.go newGRPCClient; grpc_stdio.go Run")
def its_output_may_be_asked_for(bench: Bench[Any]) -> None:
    """The stream of its output, which every agent asks for, goes on, or is said to be unimplemented."""
    stub = stdio_rpc.GRPCStdioStub(bench.main.plugin.channel)
    stream = Listening(stub.StreamStdio(empty_pb2.Empty()), lambda said: said)
    stream.ended(LISTENED)
    over, error = stream.over, stream.error
    stream.stop()
    if over and error is not None and error.code() is not grpc.StatusCode.UNIMPLEMENTED:
        raise Broken(f"StreamStdio ended: {error.code().name}: {error.details()}")


@rule(
    source="nomad devicemanager/instance.go, drivermanager/instance.go: streams are opened anew after errors"
)
def cancelled_streams_end(bench: Bench[Any]) -> str:
    """Streams that were cancelled end in the plugin as well: no threads or open files are left of them."""
    instance = bench.launch()
    counts = [_opened(bench, instance) for _ in range(2)]
    instance.ask.info()
    (threads, files), (more_threads, more_files) = counts
    grown = {"threads": more_threads - threads, "open files": more_files - files}
    for what, more in grown.items():
        if more > STREAMS // 2:
            raise Broken(f"{more} {what} more after {STREAMS} streams more that were cancelled")
    return f"{more_threads} threads, {more_files} open files"


def _opened(bench: Bench[Any], instance: Instance[Any]) -> tuple[int, int]:
    """Open and cancel streams; the plugin's threads and open files then."""
    for _ in range(STREAMS):
        bench.open_streams(instance)
    process = bench.look().process(instance.started.pid)
    if process is None:
        raise Broken(f"it ended: {instance.plugin.said[-300:].strip()!r}")
    return process.threads, process.files


@rule(source="nomad devicemanager/instance.go fingerprint (EOF: never again); drivermanager: at once again")
def streams_go_on(bench: Bench[Any]) -> str:
    """What it tells of by itself it goes on to tell: such a stream does not end before the plugin does."""
    for stream in bench.main.streams.values():
        stream.ended(OPEN_FOR / len(bench.main.streams))
    bench.main.note()
    for instance in bench.met:
        if instance.ended_by_itself:
            raise Broken("; ".join(instance.ended_by_itself))
    return f"in all {len(bench.met)} processes of it"


@rule(source="go-plugin log_entry.go parseJSON: v.(string) of these fields, else the agent panics")
def its_log_can_be_read(bench: Bench[Any]) -> str:
    """A line of JSON in its log, of any of its processes, has text for @message, @level and @timestamp."""
    bench.main.ask.info()
    lines = [line for started in bench.begun for line in started.stderr().splitlines()]
    for line in lines:
        wrong = [name for name in FIELDS if not isinstance(_read(line).get(name, ""), str)]
        if wrong:
            raise Broken(f"{', '.join(wrong)} is no text in {line[:200]}")
    return f"{len(lines)} lines"


def _read(line: str) -> dict[str, Any]:
    """The object of a line of JSON; an empty one of any other."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


RULES: tuple[Rule[Any], ...] = (
    many_calls_at_once,
    unknown("a call", f"/{BASE}/NoSuchCall"),
    unknown("a service", "/hashicorp.nomad.plugins.NoSuchService/NoSuchCall"),
    its_output_may_be_asked_for,
    cancelled_streams_end,
)
LAST: tuple[Rule[Any], ...] = (streams_go_on, its_log_can_be_read)
