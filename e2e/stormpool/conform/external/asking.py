"""Asks a plugin, so that what it refuses tells which call that was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import grpc

from stormpool.conform.rule import Broken
from stormpool.errors import TimedOut
from stormpool.goplugin.listening import Listening
from stormpool.wait import wait_until

# The calls by the names they are driven by.
CALLS = {
    "info": "PluginInfo",
    "config_spec": "ConfigSchema",
    "configure": "SetConfig",
    "reserve": "Reserve",
    "task_spec": "TaskConfigSchema",
    "capabilities": "Capabilities",
    "start": "StartTask",
    "recover": "RecoverTask",
    "wait": "WaitTask",
    "stop": "StopTask",
    "destroy": "DestroyTask",
    "inspect": "InspectTask",
    "signal": "SignalTask",
    "exec": "ExecTask",
}


class Refused(Broken):
    """A call was answered with another status than OK. A rule that expects no such thing is broken by it."""

    def __init__(self, call: str, error: grpc.RpcError) -> None:
        self.code: str = error.code().name
        self.details = str(error.details())
        super().__init__(f"{call} answered {self.code}: {self.details}"[:600])


@contextmanager
def asked(call: str) -> Iterator[None]:
    """Raise `Refused` for what gRPC raises."""
    try:
        yield
    except grpc.RpcError as error:
        raise Refused(call, error) from error


class Asking:
    """What drives a plugin, with calls that raise `Refused`; streams tell their own errors."""

    def __init__(self, driven: Any) -> None:
        self._driven = driven

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._driven, name)
        return _asking(CALLS[name], found) if name in CALLS else found


def _asking(call: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def asking(*args: Any, **named: Any) -> Any:
        with asked(call):
            return method(*args, **named)

    return asking


def heard(stream: Listening[Any], within: float, messages: int = 1) -> list[Any]:
    """What a stream has told once there are so many messages, it has ended, or so many seconds are over."""
    with suppress(TimedOut):
        wait_until(
            "it tells", lambda: len(stream.said) >= messages or stream.over, timeout=within, every=0.005
        )
    return list(stream.said)
