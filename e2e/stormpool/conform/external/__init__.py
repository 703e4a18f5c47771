"""Conformance of Nomad's external plugins: what its agents take for granted of devices and task drivers."""
