"""Measure one run: the referee in a process of its own, supervised by the worker.

The worker imports no torch and runs none of the candidate's code.
"""
