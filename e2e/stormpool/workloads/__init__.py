"""What clients of a lab do, one kind a file: a frozen description with `act`."""

from stormpool.workloads.attach_detach import AttachDetach, attach_detach
from stormpool.workloads.consumer import CONSUMER_TASK, consumer
from stormpool.workloads.contend import Contend, contend
from stormpool.workloads.read_back import ReadBack, read_back
from stormpool.workloads.workload import Workload

__all__ = [
    "CONSUMER_TASK",
    "AttachDetach",
    "Contend",
    "ReadBack",
    "Workload",
    "attach_detach",
    "consumer",
    "contend",
    "read_back",
]
