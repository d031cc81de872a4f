"""allauth's forms in the words of this house; what they do is allauth's."""

from __future__ import annotations

from typing import Any, ClassVar

from allauth.account import forms as account
from allauth.mfa.base import forms as second_factor
from allauth.mfa.totp import forms as authenticator_app
from django import forms
from django.http import HttpRequest

from engagements.notifications import password_mails

WHAT_IT_TAKES = (
    "At least 8 characters; not digits alone, nothing like your name or address, and none of "
    "those that many people use."
)


class InOurWords(forms.Form):
    """Labels are replaced, and no placeholder says again what a label says."""

    labels: ClassVar[dict[str, str]] = {}
    helps: ClassVar[dict[str, str]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            field.label = self.labels.get(name, field.label)
            field.help_text = self.helps.get(name, field.help_text)


class NewPassword(InOurWords):
    """Whoever chooses a password, at whatever turn."""

    labels: ClassVar = {
        "oldpassword": "Current password",
        "password1": "New password",
        "password2": "New password, again",
    }
    helps: ClassVar = {"password1": WHAT_IT_TAKES}


class LoginForm(InOurWords, account.LoginForm):
    labels: ClassVar = {"remember": "Stay signed in"}


class ReauthenticateForm(InOurWords, account.ReauthenticateForm):
    pass


class ResetPasswordForm(InOurWords, account.ResetPasswordForm):
    """Nobody is looked up here: the answer, and how long it takes, say nothing of an address."""

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"])

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        """Ask for the mail; a worker finds out whether anybody gets one."""
        address = str(self.cleaned_data["email"])
        origin = f"{request.scheme}://{request.get_host()}"
        password_mails.ask(address=address, origin=origin)
        return address


class ResetPasswordKeyForm(NewPassword, account.ResetPasswordKeyForm):
    pass


class ChangePasswordForm(NewPassword, account.ChangePasswordForm):
    pass


class SetPasswordForm(NewPassword, account.SetPasswordForm):
    pass


class ActivateForm(InOurWords, authenticator_app.ActivateTOTPForm):
    labels: ClassVar = {"code": "Code that the app shows"}


class CodeForm(InOurWords, second_factor.AuthenticateForm):
    pass


class CodeAgainForm(InOurWords, second_factor.ReauthenticateForm):
    pass
