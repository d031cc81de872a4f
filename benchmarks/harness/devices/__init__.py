"""Devices and shared memory; `arenas.device` selects the back end."""
