"""What serves ZFS on a node, and how it is made ill: the node's kernel (OpenZFS), or a daemon (zfs-fuse)."""
