"""Devices and shared memory; `backends.device` selects one."""
