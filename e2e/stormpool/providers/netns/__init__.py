"""The embedded provider: a nest of Linux namespaces on this host, no virtual machine, no daemon.

One init holds the whole lab in its own pid, mount, network and host-name namespaces (and a user namespace
when not root); each node is a nested set under an init of its own. When the lab's init dies, the kernel ends
every process and takes every mount, link and namespace with it; and that init ends as soon as the harness
does, for it reads a pipe only the harness holds. The host's files are seen through overlays: nothing written
in the lab reaches the host but what goes through the door, one directory of the run. What the kernel does not
undo, the cgroups, is written down (`stormpool.ledger`) before it is made.
"""

from stormpool.providers.netns.nodes import NamespaceNodes
from stormpool.providers.netns.provider import Netns

__all__ = ["NamespaceNodes", "Netns"]
