"""A lab that cannot be is refused before anything starts, with the fix."""

import pytest

from stormpool import capacity
from stormpool.errors import Misuse
from stormpool.lab import API_DOOR, CsiPlugin, Lab, Role, lab_of
from stormpool.plugins import csi, dataset


def test_nodes_are_named_by_role_servers_first() -> None:
    nodes = Lab(servers=2, clients=1).nodes()
    assert [(node.name, node.role) for node in nodes] == [
        ("server1", Role.SERVER),
        ("server2", Role.SERVER),
        ("client1", Role.CLIENT),
    ]


def test_a_test_may_have_a_lab_of_its_own() -> None:
    own, usual = Lab(servers=3), Lab()
    described = {"LAB": usual, "LABS": {"test_own": own}}
    assert lab_of(described, "test_own") is own
    assert lab_of(described, "test_other") is usual
    assert lab_of({"LABS": {"test_own": own}}, "test_other") is None
    assert lab_of({"LAB": "no lab"}, "test_other") is None


def test_whether_a_plugin_goes_by_the_door_is_seen_by_its_configuration() -> None:
    assert Lab(plugins=[dataset.device(address=f"unix://{API_DOOR}")]).has_api_door
    assert not Lab(plugins=[dataset.device()]).has_api_door


def test_no_server() -> None:
    with pytest.raises(Misuse, match="without a server"):
        Lab(servers=0, plugins=[csi.zfs()])
    assert Lab(servers=0).names(Role.SERVER) == ()


def test_too_many_nodes() -> None:
    with pytest.raises(Misuse, match="a lab of 100 clients"):
        Lab(clients=100)


def test_a_pool_too_small_for_zfs() -> None:
    with pytest.raises(Misuse, match="64 MiB"):
        Lab(pool_mib=32)


def test_a_socket_path_that_is_too_long_says_by_how_much() -> None:
    with pytest.raises(Misuse, match="ends at 107") as caught:
        Lab(data_dir="/var/lib/" + "n" * 60)
    assert "by 30 bytes" in caught.value.fix


def test_more_controllers_than_clients() -> None:
    with pytest.raises(Misuse, match="asks for 3 controllers on 2 clients"):
        Lab(clients=2, plugins=[CsiPlugin(id="zfs", argv=("plugin",), controllers=3)])


def test_a_plugin_without_a_command() -> None:
    with pytest.raises(Misuse, match="has no command"):
        CsiPlugin(id="zfs", argv=())


def test_more_than_the_host_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "available", lambda: 1000)
    lab = Lab(servers=3, clients=30)
    with pytest.raises(Misuse, match="this host has 1000 MiB to give"):
        capacity.must_hold(lab, capacity.needed(lab))
