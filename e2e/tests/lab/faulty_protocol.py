"""Faults that a plugin of either kind can have, whatever it is for: put into the library that serves it.

Which one is said by `FAULT` in the environment; none where that is not set.
"""

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import msgspec
from google.protobuf.unknown_fields import UnknownFieldSet

from stormpool.goplugin import base_service, schema, serve
from stormpool.goplugin.controller_service import ControllerService
from stormpool.goplugin.handshake import COOKIE, COOKIE_VALUE
from stormpool.goplugin.protos import base, controller, hcl
from stormpool.goplugin.stdio_service import StdioService

FAULT = os.environ.get("FAULT", "")
DOING: set[int] = set()
TIMES = itertools.count()


def faulty(name: str) -> bool:
    """Whether the plugin has a fault."""
    return name == FAULT


def leave_a_process(env: dict[str, str] | None = None, *, output: Any = subprocess.DEVNULL) -> None:
    subprocess.Popen(
        ["sleep", "1000"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )


def info_of_few(self: Any, request: Any, context: Any) -> Any:
    DOING.add(threading.get_ident())
    time.sleep(0.01)
    few = len(DOING) < 4
    DOING.discard(threading.get_ident())
    return PLUGIN_INFO(self, request, context) if few else base.PluginInfoResponse()


def info_of_no_kind(self: Any, request: Any, context: Any) -> Any:
    said = PLUGIN_INFO(self, request, context)
    said.type = 9
    return said


class Anything(grpc.GenericRpcHandler):
    def service(self, details: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b"")


def stream_that_fails(self: Any, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
    yield from ()
    context.abort(grpc.StatusCode.INTERNAL, "no output")


def gullible(data: bytes, config: Any) -> Any:
    try:
        return DECODE(data, config)
    except Exception:
        return config()


def in_order(data: bytes, config: Any) -> Any:
    """A configuration, as go-msgpack reads a list into a struct."""
    given = msgspec.msgpack.decode(data)
    if isinstance(given, list):
        names = [each.name for each in msgspec.structs.fields(config)]
        data = msgspec.msgpack.encode(dict(zip(names, given, strict=False)))
    return DECODE(data, config)


def once(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
    if next(TIMES):
        context.abort(grpc.StatusCode.UNKNOWN, "it is configured already")
    return SET_CONFIG(self, request, context)


def of_processors(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
    """As drivers on the executor of Nomad 1.7 and later: they need what agents say of processors."""
    if request.HasField("nomad_config") and not len(UnknownFieldSet(request.nomad_config.driver)):
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no topology")
    return SET_CONFIG(self, request, context)


def exclusive(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
    leave_a_process()
    return SET_CONFIG(self, request, context)


def with_anything(server: grpc.Server, stop: Any, output: Any) -> None:
    ADD(server, stop, output)
    server.add_generic_rpc_handlers((Anything(),))


def refuse_a_second_start() -> None:
    lock = Path(tempfile.gettempdir()) / f"lock-{Path(sys.argv[0]).name}"
    if lock.exists():
        sys.exit(f"{lock} is there")
    lock.touch()


def empty(config: Any) -> Any:
    return hcl.Spec(object=hcl.Object(attributes={"part": hcl.Spec()}))


def odd(config: Any) -> Any:
    """A specification with a part that agents refuse, or with parts that are seldom and right."""
    said = SPEC_OF(config)
    nested = hcl.Spec(object=hcl.Object(attributes={"size": hcl.Spec(Attr=hcl.Attr(type="number"))}))
    parts = {
        "strange_type": hcl.Spec(Attr=hcl.Attr(name="part", type="strng")),
        "no_type": hcl.Spec(Attr=hcl.Attr(name="part")),
        "no_type_of_all": hcl.Spec(block_attrs=hcl.BlockAttrs(name="part")),
        "no_label": hcl.Spec(block_map=hcl.BlockMap(name="part", nested=nested)),
        "seldom": hcl.Spec(block_map=hcl.BlockMap(name="part", labels=["its"], nested=nested)),
    }
    said.object.attributes["part"].CopyFrom(parts[FAULT])
    if faulty("seldom"):
        word = hcl.Spec(Attr=hcl.Attr(name="word", type="object({a=string, b=list(map(any))})"))
        said.object.attributes["words"].CopyFrom(hcl.Spec(array=hcl.Array(values=[word])))
    return said


SPEC_OF = schema.spec_of
PLUGIN_INFO = base_service.BaseService.PluginInfo
SET_CONFIG = base_service.BaseService.SetConfig
DECODE = schema.decode
ADD = serve._add_go_plugin


def put(where: Any, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(where, name, value)


BREAK: dict[str, Callable[[], object]] = {
    "chatter": lambda: print("hello"),
    "no_cookie": lambda: os.environ.update({COOKIE: COOKIE_VALUE}),
    "no_kind": put(base_service.BaseService, "PluginInfo", info_of_no_kind),
    "not_serving": put(serve, "SERVICE", "other"),
    "empty_schema": put(schema, "spec_of", empty),
    "strange_type": put(schema, "spec_of", odd),
    "no_type": put(schema, "spec_of", odd),
    "no_type_of_all": put(schema, "spec_of", odd),
    "no_label": put(schema, "spec_of", odd),
    "seldom": put(schema, "spec_of", odd),
    "configured_once": put(base_service.BaseService, "SetConfig", once),
    "gullible": put(schema, "decode", gullible),
    "reads_lists": put(schema, "decode", in_order),
    "needs_topology": put(base_service.BaseService, "SetConfig", of_processors),
    "exclusive": put(base_service.BaseService, "SetConfig", exclusive),
    "few_at_once": put(base_service.BaseService, "PluginInfo", info_of_few),
    "knows_all": put(serve, "_add_go_plugin", with_anything),
    "no_output": put(StdioService, "StreamStdio", stream_that_fails),
    "numbers": lambda: print('{"@message": 3}', file=sys.stderr),
    "deaf": put(ControllerService, "Shutdown", lambda self, request, context: controller.Empty()),
    "litter": lambda: Path(tempfile.mkstemp(prefix="litter")[1]),
    "lock_file": refuse_a_second_start,
}


def apply() -> None:
    """Put the fault in, where it is one of these."""
    BREAK.get(FAULT, lambda: None)()
    if FAULT in ("ignores_term", "dies_of_interrupt"):
        keep_handler(signal.SIGTERM if faulty("ignores_term") else signal.SIGINT)


def keep_handler(kept: signal.Signals) -> None:
    """Have a signal ignored, or what it does by itself, whatever the library says."""
    set_handler = signal.signal
    set_handler(kept, signal.SIG_IGN if faulty("ignores_term") else signal.SIG_DFL)

    def others(number: int, wanted: Any) -> Any:
        return None if number == kept else set_handler(number, wanted)

    put(signal, "signal", others)()
