"""What a service says when it does not do what it was asked."""


class Refused(Exception):
    """A precondition did not hold. The text is one sentence for the person who asked."""
