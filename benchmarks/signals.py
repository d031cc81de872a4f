"""Django signals of runs."""

from django.dispatch import Signal

# A run finished or failed; sent inside that transaction, with run.
run_concluded = Signal()

# The progress of a run was stored; sent outside any transaction, with run.
run_progressed = Signal()
