"""Errors of backup and restore."""


class BackupError(Exception):
    """A backup that cannot be written, read or restored. `code` is for programs."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
