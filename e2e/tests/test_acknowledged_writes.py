"""What a task told of in each of its lives, against what is there."""

import subprocess
from pathlib import Path

from stormpool.checkers.acknowledged_writes import no_acknowledged_write_is_lost
from stormpool.events import Acknowledged, Contents, Event, Operation
from stormpool.history import History
from stormpool.verdict import Outcome
from stormpool.workloads.consumer import CONSUMER, READER, WRITER, refused_in, told_in, writes_in

ATTACH = Operation(1, "attach", "vol1", 2, "alloc", "client1")


def judge(*events: Event) -> tuple[Outcome, int]:
    verdict = no_acknowledged_write_is_lost(History([ATTACH, *events]))
    return verdict.outcome, verdict.judged


def test_what_an_earlier_life_told_of_is_not_forgotten() -> None:
    output = "wrote 1 to vol1 in life a\nwrote 2 to vol1 in life a\nwrote 1 to vol1 in life b\n"
    told = [
        Acknowledged(5, "alloc", writes, life, volume) for (volume, life), writes in told_in(output).items()
    ]
    kept = writes_in(["alloc/a 1", "alloc/a 2", "alloc/b 1"])
    assert judge(*told, Contents(6, "vol1", "client1", kept)) == (Outcome.VALID, 3)
    lost = writes_in(["alloc/a 1", "alloc/b 1"])
    assert judge(*told, Contents(6, "vol1", "client1", lost)) == (Outcome.INVALID, 3)


def test_what_was_told_of_before_its_output_was_lost_is_not_forgotten() -> None:
    told = [Acknowledged(at, "alloc", writes, "a", "vol1") for at, writes in ((5, 3), (6, 1))]
    assert judge(*told, Contents(7, "vol1", "client1", {"alloc/a": 3})) == (Outcome.VALID, 3)
    assert judge(*told, Contents(7, "vol1", "client1", {"alloc/a": 2})) == (Outcome.INVALID, 3)


def test_a_task_that_no_operation_began_is_judged_too() -> None:
    """One that was placed anew, as when its node is drained or lost."""
    told = Acknowledged(5, "moved", 3, "a", "vol1")
    assert judge(told, Contents(6, "vol1", "client2", {"moved/a": 3})) == (Outcome.VALID, 3)
    assert judge(told, Contents(6, "vol1", "client2", {"moved/a": 2})) == (Outcome.INVALID, 3)


def test_histories_from_before_lives_were_told_apart_are_judged_as_ever() -> None:
    told = Acknowledged(5, "alloc", 2)
    assert judge(told, Contents(6, "vol1", "client1", {"alloc": 2})) == (Outcome.VALID, 2)
    assert judge(told, Contents(6, "vol1", "client1", {"alloc": 1})) == (Outcome.INVALID, 2)


def test_what_was_told_of_later_than_the_volume_was_read_is_not_judged() -> None:
    read = Contents(6, "vol1", "client1", {"alloc": 2})
    assert judge(Acknowledged(5, "alloc", 2), read, Acknowledged(9, "alloc", 40)) == (Outcome.VALID, 2)


def test_what_is_told_twice_is_counted_once() -> None:
    told = Acknowledged(4, "alloc", 2), Acknowledged(5, "alloc", 2)
    assert judge(*told, Contents(6, "vol1", "client1", {"alloc": 2})) == (Outcome.VALID, 2)


def test_a_task_that_is_started_again_tells_of_another_life(tmp_path: Path) -> None:
    """Its script, on a directory, until three writes are told of; twice."""
    once = CONSUMER.replace("/vol", str(tmp_path)).replace("usleep 100000", '[ "$n" -lt 3 ] || exit 0')
    lives = [
        subprocess.run(
            ["/bin/sh", "-c", once],
            env={"NOMAD_ALLOC_ID": "alloc", "VOLUME": "vol1"},
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    told = told_in("".join(life.stdout for life in lives))
    assert list(told.values()) == [3, 3]
    there = writes_in((tmp_path / "writes").read_text().splitlines())
    assert there == {f"alloc/{life}": 3 for _, life in told}


def test_a_record_that_could_not_be_written_is_written_again(tmp_path: Path) -> None:
    """And told of as refused; what is there has no gap."""
    once = CONSUMER.replace("/vol", str(tmp_path)).replace(
        "usleep 100000", f'[ "$n" -lt 2 ] || exit 0; [ -f {tmp_path}/writes ] || rm {tmp_path}/writes'
    )
    (tmp_path / "writes").symlink_to("/dev/full")
    said = subprocess.run(
        ["/bin/sh", "-c", once],
        env={"NOMAD_ALLOC_ID": "alloc", "VOLUME": "vol1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ((_, writes),) = told_in(said).items()
    ((_, refused),) = refused_in(said).items()
    assert (writes, refused) == (2, 1)


def test_a_device_is_written_to_behind_what_is_there(tmp_path: Path) -> None:
    """Two lives of the script, on a file of the size of a device; and what a reader makes of it."""
    device = tmp_path / "vol"
    device.write_bytes(bytes(8 << 20))
    script = WRITER.device.replace("/vol", str(device)).replace("usleep 100000", '[ "$n" -lt 3 ] || exit 0')
    reads = READER.device.replace("/vol", str(device))
    environment = {"NOMAD_ALLOC_ID": "alloc", "VOLUME": "vol1"}
    for each in (script, script, reads):
        done = subprocess.run(
            ["/bin/sh", "-c", each], env=environment, capture_output=True, text=True, check=True
        )
    *lines, last = done.stdout.splitlines()
    assert last == "end"
    assert list(writes_in(lines).values()) == [3, 3]
    assert device.stat().st_size == 8 << 20
