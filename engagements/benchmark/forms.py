"""Forms of a customer's own benchmark: upload, comment, approve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from benchmarks.records.folder_archives import MAX_ARCHIVE_BYTES
from engagements.common.choice_fields import offer


class UploadForm(forms.Form):
    """An archive of a benchmark folder."""

    archive = forms.FileField(
        label="Archive",
        help_text=f"The folder as .zip or .tar.gz, at most {MAX_ARCHIVE_BYTES // 2**20} MiB.",
        widget=forms.FileInput(attrs={"accept": ".zip,.tar.gz,.tgz"}),
    )


class CommentForm(forms.Form):
    """A comment on the version, on a file or on one of its lines."""

    text = forms.CharField(
        label="Comment", max_length=4000, widget=forms.Textarea(attrs={"rows": 3})
    )
    path = forms.ChoiceField(label="File", required=False)
    line = forms.IntegerField(label="Line", required=False, min_value=1)

    def __init__(self, *args: Any, paths: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer(self.fields["path"], [("", "The whole benchmark"), *((path, path) for path in paths)])

    def clean(self) -> dict[str, Any]:
        """Require the file of a line."""
        cleaned = super().clean() or {}
        if cleaned.get("line") and not cleaned.get("path"):
            self.add_error("path", "Choose the file of this line.")
        return cleaned


class ApproveForm(forms.Form):
    """Approval of exactly the checked benchmark that was on the screen."""

    digest = forms.CharField(widget=forms.HiddenInput, max_length=71)
