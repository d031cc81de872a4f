"""Limit the size of uploads by the request's length, before the body is read.

Django parses a form before any view runs, to find its CSRF token; without a limit anyone could
fill the disk with a file that no page accepts.
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
# Room for boundaries and other form fields beside the files.
FORM_BYTES = 2**20

View = Callable[..., Any]


class Bound(NamedTuple):
    """The most bytes of files in a request; with `of`, for those users only."""

    most_bytes: int = MOST_BYTES
    of: Callable[[User | AnonymousUser], bool] | None = None


class TakesFiles(Protocol):
    """A view that declares its upload limit."""

    takes_files: Bound


def takes_files(
    *, up_to_bytes: int, of: Callable[[User | AnonymousUser], bool] | None = None
) -> Callable[[View], View]:
    """Let a view accept files of up to so many bytes in all, from `of` only if given."""

    def marked(view: View) -> View:
        cast(TakesFiles, view).takes_files = Bound(up_to_bytes, of)
        return view

    return marked


class Bounded(FileUploadHandler):
    """Reject a request that is too long with RequestDataTooBig; pass on its files otherwise."""

    def handle_raw_input(
        self,
        input_data: Any,
        meta: dict[str, str],
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        """Reject a request that is longer than its view accepts from this user."""
        most_bytes = self._most_bytes()
        if content_length > most_bytes + FORM_BYTES:
            raise RequestDataTooBig(f"An upload here has at most {most_bytes} bytes.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Pass the chunk on."""
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the handlers after this one."""

    def _most_bytes(self) -> int:
        request = self.request
        match = request.resolver_match if request else None
        if request is None or match is None:
            return MOST_BYTES
        bound: Bound = getattr(match.func, "takes_files", Bound())
        return bound.most_bytes if bound.of is None or bound.of(request.user) else MOST_BYTES
