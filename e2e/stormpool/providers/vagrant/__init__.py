"""Real machines: virtual ones with a kernel of their own and OpenZFS, brought up by vagrant through libvirt.

Slower than namespaces, and with all they lack: ZFS in the kernel with zvols and multihost protection, netem,
a wall clock for each node, power cuts that lose what was not written. libvirt, its networks, and the machines
live in namespaces and memory of the lab's, and end with its init, as the provider `netns` has it.
"""

from stormpool.providers.vagrant.nodes import VagrantNodes
from stormpool.providers.vagrant.provider import Vagrant

__all__ = ["Vagrant", "VagrantNodes"]
