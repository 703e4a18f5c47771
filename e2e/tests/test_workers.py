"""Workers and those who wait for them, with programs of a few lines in the place of workers with labs."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stormpool import runner
from stormpool.agents.build import Agent
from stormpool.errors import MachineError
from stormpool.lab import Lab
from stormpool.runner import Asked, Run, lab_up
from stormpool.store import Recorder
from stormpool.watch import Watch
from stormpool.workers import pool, worker
from stormpool.workers.pool import Workers
from stormpool.workers.story import Story
from stormpool.workers.worker import Done, Order

CARRIES_OUT = """
import sys
for line in sys.stdin:
    print('{"run":"/run","what":"up"}', flush=True)
    print('{"run":"/run","seconds":1.0}', flush=True)
"""
PRINTS = """
import sys
for line in sys.stdin:
    print("a story says this", flush=True)
"""
NEVER_ENDS = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.stdin.readline()
print('{"run":"/run","seconds":1.0}', flush=True)
while True:
    signal.pause()
"""
KEEPS_TO_ITSELF = """
from stormpool.store import Recorder
from stormpool.watch import Watch
from stormpool.workers.worker import Speech, own_descriptors
orders, speech = own_descriptors()
print("a story says this", flush=True)
Speech(speech).say({"read": open(0).read(), "order": open(orders).read()})
"""


def of(tmp_path: Path, program: str, many: int = 2) -> Workers:
    return Workers(many, [], tmp_path, lambda _: None, (sys.executable, "-c", program))


def orders(many: int) -> Iterator[tuple[str, Order]]:
    yield from ((str(number), Order(number)) for number in range(many))


def test_every_order_is_carried_out(tmp_path: Path) -> None:
    with of(tmp_path, CARRIES_OUT) as labs:
        done = dict(labs.run(orders(5)))
    assert done == {str(number): Done("/run", 1.0) for number in range(5)}


def test_what_a_story_prints_and_reads_is_not_the_workers() -> None:
    argv = [sys.executable, "-c", KEEPS_TO_ITSELF]
    done = subprocess.run(argv, input="an order", capture_output=True, text=True, check=True)
    assert done.stdout == '{"read":"","order":"an order"}\n'
    assert done.stderr == "a story says this\n"


def test_a_worker_that_says_what_nobody_understands_has_failed(tmp_path: Path) -> None:
    with of(tmp_path, PRINTS) as labs:
        failed = [done for _, done in labs.run(orders(3))]
    assert [type(each) for each in failed] == [MachineError] * 3


def test_what_goes_wrong_in_handing_out_orders_is_raised(tmp_path: Path) -> None:
    def wrong() -> Iterator[tuple[str, Order]]:
        yield "one", Order(1)
        raise KeyError("a slip")

    with of(tmp_path, CARRIES_OUT) as labs, pytest.raises(KeyError):
        list(labs.run(wrong()))


def test_one_that_does_not_end_is_killed_and_the_others_are_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "ENDED_WITHIN", 0.2)
    labs = of(tmp_path, NEVER_ENDS)
    with pytest.raises(MachineError, match="ended with -9"), labs:
        assert len(list(labs.run(orders(2)))) == 2
    assert all(each._process is None for each in labs._workers)


def test_what_goes_wrong_at_the_end_does_not_hide_what_ended_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pool, "ENDED_WITHIN", 0.2)
    with pytest.raises(KeyError), of(tmp_path, NEVER_ENDS, 1) as labs:
        raise KeyError(len(list(labs.run(orders(1)))))
    assert "worker 1 ended with" in capfd.readouterr().err


def test_none_is_started_once_it_is_over(tmp_path: Path) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    labs = of(tmp_path, CARRIES_OUT)
    with pytest.raises(KeyboardInterrupt), labs:
        stop()
    assert list(labs.run(orders(2))) == []
    with pytest.raises(MachineError, match="no lab is brought up"):
        labs._workers[0].run(Order(1))


def test_a_worker_ends_though_threads_of_a_run_still_wait() -> None:
    program = (
        "import threading; from stormpool.workers import worker; "
        "worker.main = threading.Thread(target=threading.Event().wait).start; worker._and_end()"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=20, check=False).returncode == 0


def test_watching_a_lab_that_never_came_up_can_end(tmp_path: Path) -> None:
    agents: Any = SimpleNamespace()
    recorder = Recorder(tmp_path / "history.jsonl")
    Watch(Lab(), agents, tmp_path, recorder).stop()
    recorder.close()


@contextmanager
def lab_without_a_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, left: list[str]
) -> Iterator[tuple[Run, Any]]:
    """A run's lab of nothing, that leaves something behind or not."""
    nodes = SimpleNamespace(down=lambda: None, left_behind=lambda: left)
    asked = Asked(Lab(), "test_story.py", out=tmp_path)
    run = Run(asked, lambda *_: None, None)
    cluster = SimpleNamespace(turn=run.turn, lab=Lab(), acts=(), start=lambda: None, stop=lambda: None)
    provider = SimpleNamespace(up=lambda *_: nodes)
    monkeypatch.setattr(runner, "_ready_provider", lambda _: provider)
    monkeypatch.setattr("stormpool.agents.build.resolve", lambda *_: Agent("1.6.1", Path("/nomad")))
    monkeypatch.setattr(runner, "Cluster", lambda *_: cluster)
    try:
        with lab_up(asked, run):
            yield run, cluster
    finally:
        run.recorder.close()


def test_a_lab_whose_last_run_was_removed_is_still_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    turn = Run(Asked(Lab(), "test_story.py", out=tmp_path), lambda *_: None, None)
    turn.recorder.close()
    turn.directory.remove()
    lab = lab_without_a_host(monkeypatch, tmp_path, ["a mount"])
    _, cluster = lab.__enter__()
    cluster.turn = turn.turn
    with pytest.raises(MachineError, match="left behind on this host: a mount"):
        lab.__exit__(None, None, None)


def test_a_labs_own_run_keeps_its_script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with lab_without_a_host(monkeypatch, tmp_path, []) as (run, _):
        pass
    assert run.directory.script.exists()


def test_a_lab_is_as_small_as_its_provider_is_to_have_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted: list[Lab] = []

    def not_brought_up(asked: Asked, *_: object) -> None:
        assert asked.script is not None
        wanted.append(asked.script.lab)
        raise MachineError("not here")

    monkeypatch.setattr(worker, "written", not_brought_up)
    large = Lab(servers=3, clients=3)
    asked = Asked(large, "test_story.py", out=tmp_path, provider="vagrant:1+2")
    bench = worker.Bench(asked, Story("test_story.py", large, lambda _: None), worker.Speech(1))
    with pytest.raises(MachineError, match="not here"):
        bench.carry_out(Order(1))
    assert [(lab.servers, lab.clients) for lab in wanted] == [(1, 2)]
