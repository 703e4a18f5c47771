"""When a lab is given up instead of being used for another run."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from stored import about

from stormpool.errors import MachineError
from stormpool.lab import Lab
from stormpool.runner import Asked
from stormpool.store import Recorder
from stormpool.workers.reuse import Reuse, Spent
from stormpool.workers.story import Story
from stormpool.workers.worker import Bench, Order, Speech


class Lent:
    """In the place of a lab that is used again: it can always be."""

    def __init__(self, tmp_path: Path) -> None:
        recorder = Recorder(tmp_path / "lab.jsonl")
        self.cluster = SimpleNamespace(recorder=recorder, lab=Lab(), acts=(), turn=None)

    def begin(self, turn: Any) -> None:
        self.cluster.turn = turn
        self.cluster.recorder.turn_to(turn.directory.history)

    def end(self) -> None: ...

    def reset(self) -> None: ...


def test_a_lab_on_which_other_agents_were_left_is_spent() -> None:
    reuse = Reuse.__new__(Reuse)
    reuse.cluster = SimpleNamespace(
        reusable=True, can_be_copied=False, agents=SimpleNamespace(changed=("client2",))
    )  # type: ignore[assignment]
    with pytest.raises(Spent, match="other agents run on client2"):
        reuse.reset()


@pytest.mark.parametrize("broken", [False, True])
def test_a_lab_whose_run_did_not_finish_is_given_up(tmp_path: Path, broken: bool) -> None:
    def act(cluster: object) -> None:
        if broken:
            raise MachineError("what was broken could not be mended")

    told = Story("test_story.py::test_it", Lab(), act)
    with Path(os.devnull).open("wb") as nowhere:
        bench = Bench(Asked(Lab(), told.name, out=tmp_path), told, Speech(nowhere.fileno()))
        bench._lab, bench._reuse, bench._about = Lab(), Lent(tmp_path), about()  # type: ignore[assignment]
        done = bench.carry_out(Order(0))
    assert done.spent == ("the run did not finish" if broken else "")
    assert (bench._reuse is None) is broken
