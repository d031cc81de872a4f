"""A governing text: its title and its words."""

from __future__ import annotations

from django import forms

from engagements.contracts.clauses.models import Clause


class ClauseForm(forms.Form):
    """The next number of a text, or a new one."""

    slug = forms.SlugField(
        label="Short name",
        max_length=Clause._meta.get_field("slug").max_length,
        help_text="As in law: the next number of that text, or a new one.",
    )
    title = forms.CharField(max_length=Clause._meta.get_field("title").max_length)
    text = forms.CharField(
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 16}),
        help_text="An empty line starts a paragraph.",
    )
    after = forms.IntegerField(min_value=0, initial=0, widget=forms.HiddenInput)
