"""Sockets of plugins have somebody at both ends."""

from stormpool.audit import sockets
from stormpool.audit.node import Node


def test_no_socket_is_dead(node: Node) -> None:
    """At every socket file of a plugin somebody listens: unix(7), a file outlives its socket.

    go-plugin's in the temporary directories of agents and plugins, and those of CSI plugins.
    """
    node.must_show_none(sockets.dead, mend="remove the file; a plugin that was killed could not")


def test_every_plugin_has_its_agent(node: Node) -> None:
    """To every plugin and executor that listens an agent is connected.

    Agents connect again to those that outlive them (go-plugin, *Reattach*); Nomad issue 24495.
    """
    mend = "kill it by its pid, unless its agent is about to start again"
    node.must_show_none(sockets.unheard, mend=mend)
