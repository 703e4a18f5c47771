"""Nomad's plugin protocol (hashicorp/go-plugin over gRPC): serve a device or a driver, or drive one.

Serving: a `DevicePlugin` or a `DriverPlugin`, and `serve_device` or `serve_driver`. Driving, without an
agent: `DrivenDevice` and `DrivenDriver`, of any such plugin in whatever language.
"""
