"""An agent's API over a unix socket: what cannot be reached says so, and leaves no socket open."""

import gc
import socket
import warnings
from pathlib import Path

import pytest

from stormpool.agents.api import Api, Unreachable


def test_a_socket_nobody_serves(tmp_path: Path) -> None:
    with warnings.catch_warnings(), Api("server1", str(tmp_path / "nobody.sock")) as api:
        warnings.simplefilter("error")
        with pytest.raises(Unreachable, match=r"server1: GET nodes: .*nobody\.sock"):
            api.get("nodes")
        gc.collect()


def test_a_socket_that_takes_no_more(tmp_path: Path) -> None:
    path = tmp_path / "full.sock"
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(str(path))
        listener.listen(0)
        first.connect(str(path))
        with Api("server1", str(path)) as api, pytest.raises(Unreachable, match="temporarily unavailable"):
            api.get("nodes")
        gc.collect()
