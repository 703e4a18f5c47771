"""A link whose packets a process of ours passes on: what it does with them, and the process."""
