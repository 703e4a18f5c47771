"""What can be broken, one fault a file: a frozen value with `inject` and an idempotent `heal`."""

from stormpool.faults.cut_connection import CutConnection
from stormpool.faults.delay_call import DelayCall
from stormpool.faults.duplicate_call import DuplicateCall
from stormpool.faults.fail_call import FailCall
from stormpool.faults.fault import Fault
from stormpool.faults.fill_pool import FillPool
from stormpool.faults.hang_call import HangCall
from stormpool.faults.kill_agent import KillAgent
from stormpool.faults.kill_plugin import KillPlugin
from stormpool.faults.lose_answer import LoseAnswer
from stormpool.faults.lose_vdev import LoseVdev
from stormpool.faults.occupy_mount import OccupyMount
from stormpool.faults.pause_agent import PauseAgent
from stormpool.faults.reach_quota import ReachQuota
from stormpool.faults.remount_read_only import RemountReadOnly
from stormpool.faults.slow_pools import SlowPools
from stormpool.faults.suspend_pools import SuspendPools
from stormpool.faults.wait_for import WaitFor

__all__ = [
    "CutConnection",
    "DelayCall",
    "DuplicateCall",
    "FailCall",
    "Fault",
    "FillPool",
    "HangCall",
    "KillAgent",
    "KillPlugin",
    "LoseAnswer",
    "LoseVdev",
    "OccupyMount",
    "PauseAgent",
    "ReachQuota",
    "RemountReadOnly",
    "SlowPools",
    "SuspendPools",
    "WaitFor",
]
