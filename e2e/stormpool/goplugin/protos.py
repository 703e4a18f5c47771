"""The messages and services of the protocol, from the pinned modules."""

from __future__ import annotations

from stormpool import stubs

base = stubs.load("nomad", "plugins.base.proto.base_pb2")
base_rpc = stubs.load("nomad", "plugins.base.proto.base_pb2_grpc")
device = stubs.load("nomad", "plugins.device.proto.device_pb2")
device_rpc = stubs.load("nomad", "plugins.device.proto.device_pb2_grpc")
driver = stubs.load("nomad", "plugins.drivers.proto.driver_pb2")
driver_rpc = stubs.load("nomad", "plugins.drivers.proto.driver_pb2_grpc")
hcl = stubs.load("nomad", "plugins.shared.hclspec.hcl_spec_pb2")
attribute = stubs.load("nomad", "plugins.shared.structs.proto.attribute_pb2")
recoverable = stubs.load("nomad", "plugins.shared.structs.proto.recoverable_error_pb2")
stats = stubs.load("nomad", "plugins.shared.structs.proto.stats_pb2")
broker = stubs.load("goplugin", "grpc_broker_pb2")
broker_rpc = stubs.load("goplugin", "grpc_broker_pb2_grpc")
controller = stubs.load("goplugin", "grpc_controller_pb2")
controller_rpc = stubs.load("goplugin", "grpc_controller_pb2_grpc")
stdio = stubs.load("goplugin", "grpc_stdio_pb2")
stdio_rpc = stubs.load("goplugin", "grpc_stdio_pb2_grpc")
