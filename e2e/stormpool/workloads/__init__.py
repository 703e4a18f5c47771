"""What clients of a lab do, one kind a file: a frozen description with `act`."""

from stormpool.workloads.attach_detach import AttachDetach, attach_detach
from stormpool.workloads.consumer import CONSUMER_TASK, How, consumer
from stormpool.workloads.contend import Contend, contend
from stormpool.workloads.end_by_itself import EndByItself, end_by_itself
from stormpool.workloads.hand_over import SHARED, HandOver, hand_over
from stormpool.workloads.hold import Hold, hold
from stormpool.workloads.lives import Lives, lives
from stormpool.workloads.look_at_keys import LookAtKeys, look_at_keys
from stormpool.workloads.read_back import ReadBack, read_back
from stormpool.workloads.storm import Storm, storm
from stormpool.workloads.tasks import Kind, Tasks, tasks
from stormpool.workloads.use_dataset import UseDataset, use_dataset
from stormpool.workloads.workload import Workload

__all__ = [
    "CONSUMER_TASK",
    "SHARED",
    "AttachDetach",
    "Contend",
    "EndByItself",
    "HandOver",
    "Hold",
    "How",
    "Kind",
    "Lives",
    "LookAtKeys",
    "ReadBack",
    "Storm",
    "Tasks",
    "UseDataset",
    "Workload",
    "attach_detach",
    "consumer",
    "contend",
    "end_by_itself",
    "hand_over",
    "hold",
    "lives",
    "look_at_keys",
    "read_back",
    "storm",
    "tasks",
    "use_dataset",
]
