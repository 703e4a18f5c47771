"""The tap on a plugin's socket, and what becomes of the bytes it saw."""
