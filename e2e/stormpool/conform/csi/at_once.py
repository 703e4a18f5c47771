"""Calls at once: several of one call for one volume, and the lives of several volumes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import grpc

from stormpool.conform.csi import life
from stormpool.conform.csi.bench import Bench
from stormpool.conform.csi.plugin import Refused
from stormpool.conform.csi.volume import Volume
from stormpool.conform.rule import Broken, Rule, rule

CALLS = 6  # of the same at once
VOLUMES = 4  # at once
PENDING = "ABORTED"  # what a call may be answered with while another for its volume goes on


def same_call(method: str) -> Rule[Bench]:
    """Several of one call at once."""

    @rule(source="Concurrency (SHOULD); Error Scheme: ABORTED", of=method)
    def at_once(bench: Bench) -> None:
        """The same call several times at once is answered OK or ABORTED, and comes to what one comes to."""
        bench.needs(method)
        bench.needs_room(2)
        usual, volume = bench.volume(), bench.volume()
        for each in (usual, volume):
            each.to(life.before(method, bench.up))
        usual.go(method)
        listed = bench.listed()
        answers = all_at_once(volume, method)
        answers.append(volume.persist(method, f"{CALLS} of it were sent at once"))
        if any(answer != answers[0] for answer in answers):
            raise Broken(f"{CALLS} at once were answered differently: {_told(answers)}")
        _must_be_as_one(volume, usual)
        if method == "CreateVolume" and bench.lists:
            made = bench.listed() - listed
            if made.total() != 1:
                raise Broken(f"{CALLS} at once made {made.total()} volumes: {', '.join(made.elements())}")
        for each in (usual, volume):
            each.to(0)
        bench.must_be_bare()

    return at_once


def all_at_once(volume: Volume, method: str) -> list[object]:
    """The answers that were OK of several calls at once. Raises `Broken` when one was neither."""
    request = volume.request(method)
    sent = [volume.send(method, request) for _ in range(CALLS)]
    answers, refused = [], []
    for future in sent:
        try:
            answers.append(future.result())
        except grpc.RpcError as error:
            refused.append(Refused(method, error))
    wrong = [str(each) for each in refused if each.code != PENDING]
    if wrong:
        raise Broken(f"{len(wrong)} of {CALLS} at once failed: {wrong[0]}")
    return answers


def _must_be_as_one(volume: Volume, usual: Volume) -> None:
    """Raise `Broken` where calls at once left other mounts than one call does."""
    if volume.mounts() != usual.mounts():
        raise Broken(f"mounted after {CALLS} at once: {volume.mounts()}; after one: {usual.mounts()}")


def _told(answers: list[object]) -> str:
    return " / ".join(sorted({" ".join(str(answer).split()) or "nothing" for answer in answers}))


@rule(source="Concurrency: one call in flight per volume, of several volumes; NodePublishVolume: target_path")
def volumes_at_once(bench: Bench) -> str:
    """Volumes whose calls are sent at once each come to their end, each with its own files."""
    bench.needs("NodePublishVolume")
    bench.needs_room(2)
    bench.needs_files()
    count = min(VOLUMES, bench.holds or VOLUMES)
    alone = _lived(bench.volume())
    volumes = [bench.volume() for _ in range(count)]
    began = time.monotonic()
    with ThreadPoolExecutor(count) as threads:
        list(threads.map(_rise, volumes))
        for volume in volumes:
            volume.must_hold(volume.name, f"once {count} volumes were brought up at once")
        list(threads.map(_fall, volumes))
    together = time.monotonic() - began
    bench.must_be_bare()
    return f"one volume took {alone:.2f} s, {count} at once {together:.2f} s"


def _lived(volume: Volume) -> float:
    """The seconds that a volume's life takes."""
    began = time.monotonic()
    _rise(volume)
    volume.must_hold(volume.name, "once it was published")
    _fall(volume)
    return time.monotonic() - began


def _rise(volume: Volume) -> None:
    volume.rise("volumes at once")
    volume.write(volume.name)


def _fall(volume: Volume) -> None:
    volume.fall("volumes at once")


RULES = (*map(same_call, life.ALL), volumes_at_once)
