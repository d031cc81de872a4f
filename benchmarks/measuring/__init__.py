"""Measuring one run: the harness as a process of its own, watched from the worker.

The worker imports no torch and runs none of the candidate's code.
"""
