"""A plugin behind the shim ends, prints and hears signals as one without it, and may listen on a port."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from stormpool.goplugin.handshake import Handshake, NoHandshake
from stormpool.wait import wait_until

PATIENCE = 20.0  # seconds until a test gives up
LINE = "1|2|unix|/nowhere|grpc"


class Started:
    """A plugin that was started behind the shim, as its agent sees it."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self.popen = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env)

    def go_on(self) -> None:
        """Let it read a line."""
        stdin = _there(self.popen.stdin)
        stdin.write(b"go\n")
        stdin.flush()

    @property
    def stdout(self) -> IO[bytes]:
        return _there(self.popen.stdout)

    @property
    def stderr(self) -> IO[bytes]:
        return _there(self.popen.stderr)

    def line(self) -> Handshake:
        """The line that says where it listens."""
        return Handshake.parse(self.stdout.readline().decode())

    def wait(self) -> int:
        """Wait until it ends, and return what with."""
        return self.popen.wait(PATIENCE)

    def close(self) -> None:
        self.popen.kill()
        with self.popen:  # which waits, and closes what is open
            pass


def _there(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


Start = Callable[[str], Started]


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Start]:
    """Start a shell script as a plugin behind the shim."""
    collector = socket.socket(socket.AF_UNIX)
    collector.bind(str(tmp_path / "collector"))
    collector.listen()
    begun: list[Started] = []

    def start(script: str) -> Started:
        shim = [sys.executable, "-m", "stormpool.tap.shim", f"--report={tmp_path}/collector", "--hello={}"]
        env = {"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
        begun.append(Started([*shim, "--", "sh", "-c", script], env))
        return begun[-1]

    yield start
    for each in begun:
        each.close()
    collector.close()


def test_one_that_listens_on_a_port_is_met_there(behind: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as plugin, socket.socket(socket.AF_UNIX) as agent:
        plugin.settimeout(PATIENCE)
        host, port = plugin.getsockname()
        said = behind(f"echo '1|2|tcp|{host}:{port}|grpc'; read end").line()
        assert said.network == "unix"
        agent.connect(said.address)
        agent.sendall(b"PRI")
        there, _ = plugin.accept()
        with there:
            assert there.recv(3) == b"PRI"
            there.sendall(b"SET")
            assert agent.recv(3) == b"SET"


@pytest.mark.parametrize("address", ["tcp|127.0.0.1", "tcp|127.0.0.1:http", "udp|127.0.0.1:1"])
def test_a_line_that_names_no_place_is_passed_on_as_it_is(behind: Start, address: str) -> None:
    line = f"1|2|{address}|grpc"
    with pytest.raises(NoHandshake):
        Handshake.parse(line)
    plugin = behind(f"echo '{line}'; read end")
    assert plugin.stdout.readline().decode().strip() == line


@pytest.mark.parametrize("address", ["127.0.0.1:80", "[::1]:80"])
def test_where_it_listens(address: str) -> None:
    host = address.removesuffix(":80").strip("[]")
    assert Handshake.parse(f"1|2|tcp|{address}|grpc").where == (host, 80)
    assert Handshake.parse(LINE).where == "/nowhere"


def test_it_ends_with_its_plugin_though_a_child_keeps_the_output_open(behind: Start) -> None:
    plugin = behind(f"exec 3<&0; echo '{LINE}'; (read end) <&3 2>&- & kill -9 $$")
    plugin.line()
    assert plugin.wait() == -signal.SIGKILL
    assert plugin.stderr.read() == b""  # the child still waits for its input to end


def test_a_plugin_that_prints_once_its_agent_has_gone_lives_on(behind: Start) -> None:
    plugin = behind(f"echo '{LINE}'; read go; /bin/echo stray; echo $? >&2; read go; echo on >&2")
    plugin.line()
    plugin.stdout.close()
    plugin.go_on()
    stray = int(plugin.stderr.readline())
    plugin.go_on()
    assert plugin.stderr.readline() == b"on\n"
    assert plugin.wait() == 0
    assert stray in (0, 128 + signal.SIGPIPE)


def test_an_agent_that_has_gone_is_noticed_by_what_is_printed(behind: Start) -> None:
    plugin = behind(f"echo '{LINE}'; read go; while echo more; do :; done")
    plugin.line()
    plugin.stdout.close()
    plugin.go_on()
    assert plugin.wait() == -signal.SIGPIPE


def test_output_that_the_plugin_closes_is_closed(behind: Start) -> None:
    plugin = behind(f"echo before; echo '{LINE}'; printf after; exec >&-; read end")
    assert plugin.stdout.readline() == b"before\n"
    plugin.line()
    assert plugin.stdout.read() == b"after"
    assert plugin.popen.poll() is None


def test_what_is_printed_without_a_line_end_is_there_at_once(behind: Start) -> None:
    plugin = behind(f"echo '{LINE}'; printf prompt; read end")
    plugin.line()
    assert plugin.stdout.read(6) == b"prompt"


def test_the_last_words_are_heard(behind: Start) -> None:
    plugin = behind(f"echo '{LINE}'; head -c 50000 /dev/zero; exit 3")
    plugin.line()
    assert len(plugin.stdout.read()) == 50000
    assert plugin.wait() == 3


@pytest.mark.parametrize("name", ["PIPE", "QUIT", "USR1", "TERM", "SEGV", "ALRM", "KILL", "RTMIN"])
def test_it_ends_by_the_signal_that_its_plugin_ended_by(behind: Start, name: str) -> None:
    number = signal.SIGRTMIN if name == "RTMIN" else signal.Signals[f"SIG{name}"]
    plugin = behind(f"ulimit -c 0; echo '{LINE}'; kill -{int(number)} $$")
    assert plugin.wait() == -number


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "QUIT", "USR1", "USR2"])
def test_signals_are_the_plugins(behind: Start, name: str) -> None:
    plugin = behind(f"trap 'echo heard >&2; exit 4' {name}; echo '{LINE}'; while :; do read end; done")
    plugin.line()
    plugin.popen.send_signal(signal.Signals[f"SIG{name}"])
    assert plugin.stderr.read() == b"heard\n"
    assert plugin.wait() == 4


def test_its_directory_goes_with_it(behind: Start) -> None:
    plugin = behind(f"echo '{LINE}'; read end")
    directory = Path(plugin.line().address).parent
    assert directory.is_dir()
    plugin.go_on()
    plugin.wait()
    wait_until("it is gone", lambda: not directory.exists(), timeout=PATIENCE)
