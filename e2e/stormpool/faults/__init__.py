"""What can be broken, one fault a file: a frozen value with `inject` and an idempotent `heal`."""

from stormpool.faults.break_plugin import BreakPlugin
from stormpool.faults.bridge import Bridge
from stormpool.faults.change_agent import ChangeAgent
from stormpool.faults.collect_client_garbage import CollectClientGarbage
from stormpool.faults.collect_garbage import CollectGarbage
from stormpool.faults.crash_node import CrashNode
from stormpool.faults.cut_api import CutApi
from stormpool.faults.cut_connection import CutConnection
from stormpool.faults.delay_call import DelayCall
from stormpool.faults.deregister_volume import DeregisterVolume
from stormpool.faults.detach_volume import DetachVolume
from stormpool.faults.drain_node import DrainNode
from stormpool.faults.drop_request import DropRequest
from stormpool.faults.duplicate_call import DuplicateCall
from stormpool.faults.export_pool import ExportPool
from stormpool.faults.fail_call import FailCall
from stormpool.faults.fault import Fault
from stormpool.faults.fill_pool import FillPool
from stormpool.faults.hang_call import HangCall
from stormpool.faults.isolate import Isolate
from stormpool.faults.kill_agent import KillAgent
from stormpool.faults.kill_executor import KillExecutor
from stormpool.faults.kill_logmon import KillLogmon
from stormpool.faults.kill_plugin import KillPlugin
from stormpool.faults.lose_answer import LoseAnswer
from stormpool.faults.lose_raft import LoseRaft
from stormpool.faults.lose_vdev import LoseVdev
from stormpool.faults.make_ineligible import MakeIneligible
from stormpool.faults.misconfigure_plugin import MisconfigurePlugin
from stormpool.faults.occupy_mount import OccupyMount
from stormpool.faults.one_way import OneWay
from stormpool.faults.panic_node import PanicNode
from stormpool.faults.partition import Partition
from stormpool.faults.pause_agent import PauseAgent
from stormpool.faults.pause_executor import PauseExecutor
from stormpool.faults.pause_logmon import PauseLogmon
from stormpool.faults.pause_plugin import PausePlugin
from stormpool.faults.purge_node import PurgeNode
from stormpool.faults.reach_quota import ReachQuota
from stormpool.faults.remount_read_only import RemountReadOnly
from stormpool.faults.reorder_calls import reorder_calls
from stormpool.faults.restart_agent import RestartAgent
from stormpool.faults.restart_allocation import RestartAllocation
from stormpool.faults.restart_plugin import RestartPlugin
from stormpool.faults.shape_link import ShapeLink
from stormpool.faults.skew_clock import SkewClock
from stormpool.faults.slow_pools import SlowPools
from stormpool.faults.stop_allocation import StopAllocation
from stormpool.faults.suspend_pools import SuspendPools
from stormpool.faults.transfer_leadership import TransferLeadership
from stormpool.faults.upgrade_plugin import UpgradePlugin
from stormpool.faults.wait_for import WaitFor

__all__ = [
    "BreakPlugin",
    "Bridge",
    "ChangeAgent",
    "CollectClientGarbage",
    "CollectGarbage",
    "CrashNode",
    "CutApi",
    "CutConnection",
    "DelayCall",
    "DeregisterVolume",
    "DetachVolume",
    "DrainNode",
    "DropRequest",
    "DuplicateCall",
    "ExportPool",
    "FailCall",
    "Fault",
    "FillPool",
    "HangCall",
    "Isolate",
    "KillAgent",
    "KillExecutor",
    "KillLogmon",
    "KillPlugin",
    "LoseAnswer",
    "LoseRaft",
    "LoseVdev",
    "MakeIneligible",
    "MisconfigurePlugin",
    "OccupyMount",
    "OneWay",
    "PanicNode",
    "Partition",
    "PauseAgent",
    "PauseExecutor",
    "PauseLogmon",
    "PausePlugin",
    "PurgeNode",
    "ReachQuota",
    "RemountReadOnly",
    "RestartAgent",
    "RestartAllocation",
    "RestartPlugin",
    "ShapeLink",
    "SkewClock",
    "SlowPools",
    "StopAllocation",
    "SuspendPools",
    "TransferLeadership",
    "UpgradePlugin",
    "WaitFor",
    "reorder_calls",
]
