"""Read PDFs whose objects lie in object streams."""

from __future__ import annotations

import io
from functools import cache
from typing import Any


@cache
def reader_class() -> Any:
    """Return pyHanko's reader, which then parses the header of each object stream once.

    pyHanko parses it again for each object, which takes seconds for a contract of 1,000 objects.
    The class is made on first use, because pyHanko is imported only where it is used.
    """
    from pyhanko.pdf_utils import generic
    from pyhanko.pdf_utils.decode_limits import DecodePurpose
    from pyhanko.pdf_utils.generic import NumberObject
    from pyhanko.pdf_utils.misc import PdfReadError, PdfStrictReadError, read_non_whitespace
    from pyhanko.pdf_utils.reader import PdfFileReader

    class Reader(PdfFileReader):
        """Strict, whatever the file."""

        def __init__(self, content: bytes) -> None:
            self._headers: dict[int, tuple[Any, list[tuple[int, int]]]] = {}
            super().__init__(io.BytesIO(content), strict=True)

        def _get_object_from_stream(self, idnum: int, stmnum: int, idx: int) -> Any:
            stream = generic.Reference(stmnum, 0, self).get_object()
            if not isinstance(stream, generic.StreamObject) or stream["/Type"] != "/ObjStm":
                raise PdfStrictReadError(f"Object {stmnum} is not an object stream")
            data = io.BytesIO(stream.read_data(DecodePurpose.OBJECT_STREAM))
            known, offsets = self._headers.get(stmnum, (None, []))
            # A later revision may give the same number to another stream.
            if known is not stream:
                offsets = _header(data, stream["/N"])
                self._headers[stmnum] = stream, offsets
            if not 0 <= idx < len(offsets) or offsets[idx][0] != idnum:
                raise PdfStrictReadError(f"Object {idnum} is not at its place in its stream")
            data.seek(stream["/First"] + offsets[idx][1])
            found = generic.read_object(data, generic.Reference(idnum, 0, self))
            if isinstance(found, generic.StreamObject | generic.IndirectObject):
                raise PdfStrictReadError("An object stream contains a stream or a reference")
            return found

    def _header(data: io.BytesIO, count: int) -> list[tuple[int, int]]:
        """The number and the offset of each object."""
        try:
            numbers = []
            for _ in range(2 * count):
                read_non_whitespace(data, seek_back=True)
                numbers.append(int(NumberObject.read_from_stream(data)))
        except ValueError as error:
            raise PdfReadError("The header of an object stream is not a list of numbers") from error
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    return Reader
