"""How much may be sent at once: a request too long is refused by its length, unread.

Django parses a form before any view runs, to find its CSRF token; without this, anybody could
fill the disk with a file that no page takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler

if TYPE_CHECKING:
    from engagements.people.models import User

MOST_BYTES = 16 * 2**20
# What the boundaries and the other fields of a form take beside its files.
FORM_BYTES = 2**20

View = Callable[..., Any]


class Bound(NamedTuple):
    """The most bytes of files in a request, where `of` is given from its users alone."""

    most_bytes: int = MOST_BYTES
    of: Callable[[User | AnonymousUser], bool] | None = None


class TakesFiles(Protocol):
    """A view that says how much it takes; a function has no such attribute of itself."""

    takes_files: Bound


def takes_files(
    *, up_to_bytes: int, of: Callable[[User | AnonymousUser], bool] | None = None
) -> Callable[[View], View]:
    """A view that takes files of up to so many bytes in all, from `of` alone if it is given."""

    def marked(view: View) -> View:
        cast(TakesFiles, view).takes_files = Bound(up_to_bytes, of)
        return view

    return marked


class Bounded(FileUploadHandler):
    """Looks at a request's length and hands its files on. RequestDataTooBig when it is too long."""

    def handle_raw_input(
        self,
        input_data: Any,
        meta: dict[str, str],
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        """Refuse a request that is longer than its view takes from whoever sends it."""
        most_bytes = self._most_bytes()
        if content_length > most_bytes + FORM_BYTES:
            raise RequestDataTooBig(f"A request here is at most {most_bytes} bytes long.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Nothing is kept here."""
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """The handlers after this one have the file."""

    def _most_bytes(self) -> int:
        request = self.request
        match = request.resolver_match if request else None
        if request is None or match is None:
            return MOST_BYTES
        bound: Bound = getattr(match.func, "takes_files", Bound())
        return bound.most_bytes if bound.of is None or bound.of(request.user) else MOST_BYTES
