"""What comes out of a relay: what is to be sent, and what happened to a call."""

from __future__ import annotations

from dataclasses import dataclass

from stormpool.tap.frames import Side


@dataclass(frozen=True)
class Send:
    """Bytes for one side."""

    to: Side
    data: bytes


@dataclass(frozen=True)
class Asked:
    """A call's request is whole, or the first message of one that goes on.

    Held when the call is watched, else forwarded already.
    """

    stream: int
    path: str
    body: bytes
    held: bool


@dataclass(frozen=True)
class Answered:
    """A call's answer is whole; held when the call is watched, else told already."""

    stream: int
    code: int
    message: str
    body: bytes
    held: bool


@dataclass(frozen=True)
class Streamed:
    """A message of an answer that goes on is whole; the first is held when the call is watched."""

    stream: int
    body: bytes
    held: bool


@dataclass(frozen=True)
class GivenUp:
    """One side reset a call."""

    stream: int
    side: Side


Output = Send | Asked | Answered | Streamed | GivenUp
