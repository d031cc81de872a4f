"""What benchmarks refuses to do, each in one sentence for a person."""


class Refused(Exception):
    """A precondition did not hold. `str()` is one sentence for a person."""


class AttemptOver(Refused):
    """Another attempt has taken this run, or the run is concluded: nothing was changed."""


class RecordRefused(Refused):
    """What came back as a record is not believed; the run has failed with this reason."""


class RecordUnreadable(Refused):
    """A stored record is missing, or is no longer the bytes that were stored."""
