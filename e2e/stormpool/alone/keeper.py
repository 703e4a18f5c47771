"""Keeps a task driver as an agent does: starts it, starts it again when it died, has it find its tasks.

What is done when follows nomad, client/allocrunner/taskrunner/task_runner.go and client/pluginmanager: one
more start with the same id when the plugin died in it; a task recovered once its plugin is back, and
destroyed by force where that fails; DestroyTask asked for once.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

import grpc

from stormpool.errors import MachineError, TimedOut
from stormpool.goplugin.drive import DrivenDriver
from stormpool.goplugin.driver import Exit, Fingerprint, Handle, Task
from stormpool.goplugin.listening import Listening
from stormpool.goplugin.process import PluginProcess, Started
from stormpool.wait import wait_until

# Seconds in which a plugin whose connection broke is gone, if it is (helper/pluginutils/grpcutils/utils.go).
GONE_WITHIN = 3.0
GONE = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
STOP_TRIES = 5  # an agent's, which waits longer each time (task_runner.go, `killFailureLimit`)
NEVER = 1e6  # seconds: a wait for a task has no end of its own

Answer = TypeVar("Answer")


class PluginGone(Exception):
    """The plugin died while it was asked."""


class Keeper:
    """One driver on one node. `launch`: starts its process."""

    def __init__(self, launch: Callable[[], Started], config: dict[str, object]) -> None:
        self._launch = launch
        self._config = config
        self._lock = threading.Lock()
        self._driver: DrivenDriver | None = None
        self._over = False

    @property
    def driver(self) -> DrivenDriver:
        """The driver, started again where it has died."""
        with self._lock:
            if self._driver is None or not self._driver.plugin.process.alive():
                self._driver = self._start_plugin()
            return self._driver

    def _start_plugin(self) -> DrivenDriver:
        """The driver, started and configured; where it takes no configuration it is killed."""
        driver = DrivenDriver(PluginProcess(self._launch()))
        try:
            driver.configure(self._config)
            told = driver.fingerprint()
        except BaseException:
            driver.plugin.kill()
            raise
        threading.Thread(target=self._watch, args=(driver, told), name="keeper", daemon=True).start()
        return driver

    def start(self, task: Task) -> Handle:
        """Start a task; once more with the same id when the plugin died in it. Raises `grpc.RpcError`."""
        with contextlib.suppress(PluginGone):
            return self._ask(lambda driver: driver.start(task))
        return self.driver.start(task)

    def wait(self, handle: Handle) -> Exit:
        """Return how a task ended once it has, whatever becomes of the plugin meanwhile."""
        id = handle.task.id
        while True:
            try:
                return self._ask(lambda driver: driver.wait(id, NEVER))
            except PluginGone:
                lost = self._recover(handle)
                if lost:
                    return Exit(error=lost)
            except grpc.RpcError as error:  # the plugin lives, and cannot tell: the task is given up
                self.destroy(handle)
                return Exit(error=str(error.details()))

    def stop(self, handle: Handle, timeout: float) -> None:
        """Stop a task, asked some times; the plugin that has come back is asked as well.

        Raises `grpc.RpcError` with its last answer.
        """
        for turn in range(1, STOP_TRIES + 1):
            try:
                return self._ask(lambda driver: driver.stop(handle.task.id, timeout))
            except PluginGone:
                self._recover(handle)
            except grpc.RpcError:
                if turn == STOP_TRIES:
                    raise
        return None

    def destroy(self, handle: Handle) -> None:
        """Have a task forgotten; asked for once, and what goes wrong is nobody's business then."""
        with contextlib.suppress(PluginGone, grpc.RpcError):
            self._ask(lambda driver: driver.destroy(handle.task.id, force=True))

    def shut_down(self) -> None:
        """End the plugin."""
        with self._lock:
            self._over = True
            if self._driver is not None:
                self._driver.plugin.shut_down()

    def _watch(self, driver: DrivenDriver, told: Listening[Fingerprint]) -> None:
        """Start the plugin again as soon as it has died: that is when it tells of what it finds no more."""
        told.ended(NEVER)
        if not _is_gone(driver):
            return
        with contextlib.suppress(MachineError, grpc.RpcError), self._lock:  # who asks it next hears of it
            if not self._over and self._driver is driver:
                self._driver = self._start_plugin()

    def _recover(self, handle: Handle) -> str:
        """Have a task found again; why it cannot be, if so."""
        try:
            self._ask(lambda driver: driver.recover(handle))
        except PluginGone:
            return self._recover(handle)
        except grpc.RpcError as error:
            self.destroy(handle)
            return f"not recovered: {error.details()}"
        return ""

    def _ask(self, call: Callable[[DrivenDriver], Answer]) -> Answer:
        """Ask the driver. Raises `PluginGone` when it dies in it, `grpc.RpcError` for what it answers."""
        driver = self.driver
        try:
            return call(driver)
        except grpc.RpcError as error:
            if error.code() in GONE and _is_gone(driver):
                raise PluginGone from error
            raise


def _is_gone(driver: DrivenDriver) -> bool:
    """Whether the plugin's process is gone, or goes within the time that agents give it."""
    process = driver.plugin.process
    try:
        return wait_until("the plugin is gone", lambda: not process.alive(), timeout=GONE_WITHIN, every=0.02)
    except TimedOut:
        return False
