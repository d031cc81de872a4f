"""What benchmarks tells the world above it, without knowing who listens."""

from django.dispatch import Signal

# Sent once a run is finished or failed, inside the transaction that says so: run.
run_concluded = Signal()

# Sent after the progress of a running run was stored, outside any transaction: run.
run_progressed = Signal()
