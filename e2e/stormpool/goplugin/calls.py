"""One call of a plugin: until when it is wanted, and what its caller hears when the plugin raises."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

import grpc
from google.protobuf import any_pb2
from google.rpc import status_pb2
from grpc_status import rpc_status

from stormpool.goplugin.driver import NotStarted, TaskNotFound
from stormpool.goplugin.protos import recoverable

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")


def over_when_gone(context: grpc.ServicerContext) -> threading.Event:
    """An event that is set once the call is over, or its caller has gone."""
    over = threading.Event()
    if not context.add_callback(over.set):
        over.set()
    return over


def told(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """Have the caller hear what a method raises as plugins written in Go tell it: UNKNOWN, a message."""

    @functools.wraps(method)
    def answering(service: Any, request: Any, context: grpc.ServicerContext) -> Answer:
        try:
            return method(service, request, context)
        except Exception as error:  # whatever it is, it is the caller's to know
            _tell(error, context)

    return answering


def told_in_stream(method: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """The same of a method that answers with a stream."""

    @functools.wraps(method)
    def answering(service: Any, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from method(service, request, context)
        except Exception as error:  # as above
            _tell(error, context)

    return answering


def _tell(error: Exception, context: grpc.ServicerContext) -> NoReturn:
    if isinstance(error, NotStarted):
        context.abort_with_status(_not_started(error))
    if not isinstance(error, TaskNotFound):
        log.warning("refused: %s", error, exc_info=error)
    context.abort(grpc.StatusCode.UNKNOWN, str(error) or type(error).__name__)


def _not_started(error: NotStarted) -> Any:
    """An error that says whether to try again (nomad, plugins/drivers/server.go, `StartTask`)."""
    detail = any_pb2.Any()
    detail.Pack(recoverable.RecoverableError(recoverable=error.again))
    code = grpc.StatusCode.FAILED_PRECONDITION.value[0]
    return rpc_status.to_status(status_pb2.Status(code=code, message=str(error), details=[detail]))
