"""What can be broken, one fault a file: a frozen value with `inject` and an idempotent `heal`."""

from stormpool.faults.bridge import Bridge
from stormpool.faults.crash_node import CrashNode
from stormpool.faults.cut_connection import CutConnection
from stormpool.faults.delay_call import DelayCall
from stormpool.faults.duplicate_call import DuplicateCall
from stormpool.faults.fail_call import FailCall
from stormpool.faults.fault import Fault
from stormpool.faults.hang_call import HangCall
from stormpool.faults.isolate import Isolate
from stormpool.faults.kill_agent import KillAgent
from stormpool.faults.kill_plugin import KillPlugin
from stormpool.faults.lose_answer import LoseAnswer
from stormpool.faults.one_way import OneWay
from stormpool.faults.partition import Partition
from stormpool.faults.pause_agent import PauseAgent
from stormpool.faults.shape_link import ShapeLink
from stormpool.faults.wait_for import WaitFor

__all__ = [
    "Bridge",
    "CrashNode",
    "CutConnection",
    "DelayCall",
    "DuplicateCall",
    "FailCall",
    "Fault",
    "HangCall",
    "Isolate",
    "KillAgent",
    "KillPlugin",
    "LoseAnswer",
    "OneWay",
    "Partition",
    "PauseAgent",
    "ShapeLink",
    "WaitFor",
]
