"""Small programs for nodes of a lab that send packets to each other and say which came."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stormpool.node import Node
from stormpool.wait import wait_until

PORT = 9000
# Tells who was heard: datagrams of one word, each the sender's name and a number.
LISTENER = f"""
import socket, sys
heard = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
heard.bind(("0.0.0.0", {PORT}))
while True:
    print(heard.recv(100).decode(), flush=True)
"""
SPEAKER = f"""
import socket, sys
name, count, *addresses = sys.argv[1:]
speaker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(int(count)):
    for address in addresses:
        speaker.sendto(f"{{name}} {{number}}".encode(), (address, {PORT}))
"""
# One connection, a line a word: echoes what comes.
ECHO = f"""
import socket
listener = socket.create_server(("0.0.0.0", {PORT}))
while True:
    caller, _ = listener.accept()
    while data := caller.recv(100):
        caller.sendall(data)
"""
# Sends a numbered line whenever it is told to, over one connection made at the start, and tells the answers.
CALLER = f"""
import select, socket, sys, time
connection = socket.create_connection((sys.argv[1], {PORT}))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print("connected", flush=True)
number = 0
while True:
    ready = select.select([connection], [], [], 0.02)[0]
    if ready:
        print(connection.recv(1000).decode().count("."), flush=True)
    if select.select([sys.stdin], [], [], 0)[0]:
        break
    connection.sendall(b".")
print("closed in order", flush=True)
"""
RTT = f"""
import json, socket, sys, time
asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asker.settimeout(5)
spent = []
for number in range(int(sys.argv[2])):
    began = time.perf_counter()
    asker.sendto(b"?", (sys.argv[1], {PORT}))
    asker.recv(100)
    spent.append(time.perf_counter() - began)
print(json.dumps(sorted(spent)))
"""
ANSWERER = f"""
import socket
answerer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
answerer.bind(("0.0.0.0", {PORT}))
while True:
    said, who = answerer.recvfrom(100)
    answerer.sendto(said, who)
"""
BULK = f"""
import socket, sys, time
source = socket.create_connection((sys.argv[1], {PORT}))
began = time.perf_counter()
for _ in range(10):
    source.sendall(bytes(100_000))
source.shutdown(socket.SHUT_WR)
source.recv(1)
print(time.perf_counter() - began)
"""
SINK = f"""
import socket
listener = socket.create_server(("0.0.0.0", {PORT}))
while True:
    caller, _ = listener.accept()
    while caller.recv(1 << 16):
        pass
    caller.close()
"""


def python(code: str, *argv: str) -> list[str]:
    """A small program on a node."""
    return [sys.executable, "-I", "-S", "-c", code, *argv]


@contextmanager
def listening(node: Node, code: str, log: Path) -> Iterator[None]:
    """A listener on a node, while it listens."""
    listener = node.start("listener", python(code), env={}, log=log)
    kind = "-t" if "create_server" in code else "-u"
    bound = ["ss", "-Hnl", kind, f"sport = :{PORT}"]
    wait_until("it listens", lambda: node.run(bound).stdout, timeout=10)
    try:
        yield
    finally:
        listener.signal(9)
        listener.wait(10)
