"""Forms that verify a document by its digest or file."""

from __future__ import annotations

from typing import Any

from django import forms

from engagements.portal.verification import digest_in


class DigestForm(forms.Form):
    """A digest, typed or pasted."""

    digest = forms.CharField(
        label="Digest",
        max_length=120,
        help_text="sha256: and 64 digits, from the footer of the document.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean_digest(self) -> str:
        """Normalise the digest."""
        digest = digest_in(self.cleaned_data["digest"])
        if digest is None:
            raise forms.ValidationError("Enter a digest: sha256: and 64 digits from 0 to f.")
        return digest


class FileForm(forms.Form):
    """A file, of which only the digest is computed."""

    file = forms.FileField(label="The document", max_length=255)

    def digest(self) -> str:
        """The digest of the upload."""
        found: Any = self.cleaned_data["file"]
        return str(found.digest)
