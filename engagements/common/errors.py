"""Errors that services raise and pages, API and commands show."""

from __future__ import annotations


class ApplicationError(Exception):
    """A request that a service declines.

    `message` is for the person who asked: what failed and what to do. `code` is stable, as in
    "settlement.same_person", for the API and for tests.
    """

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
