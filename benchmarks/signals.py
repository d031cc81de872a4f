"""Django signals of runs."""

from django.dispatch import Signal

# A run finished or failed; sent inside that transaction, with run.
run_concluded = Signal()

# A check of a benchmark folder finished or failed; sent inside that transaction, with check.
check_concluded = Signal()

# A signing key was revoked; sent inside that transaction, with key.
key_revoked = Signal()

# The progress of a run was stored; sent outside any transaction, with run.
run_progressed = Signal()
