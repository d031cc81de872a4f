"""The form of notification settings: one channel a topic."""

from __future__ import annotations

from typing import Any

from django import forms

from engagements.notifications.events import Topic
from engagements.notifications.models import Channel


class PreferencesForm(forms.Form):
    """A choice of channel for each topic."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for topic in Topic:
            self.fields[topic.value] = forms.ChoiceField(
                label=topic.label, choices=Channel.choices, widget=forms.Select
            )

    def channels(self) -> dict[Topic, Channel]:
        """The channels of a valid form."""
        return {Topic(name): Channel(value) for name, value in self.cleaned_data.items()}
