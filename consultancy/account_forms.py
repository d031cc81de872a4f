"""allauth's forms with this site's labels and help texts."""

from __future__ import annotations

from typing import Any, ClassVar

from allauth.account import forms as account
from allauth.mfa.base import forms as second_factor
from allauth.mfa.totp import forms as totp
from django import forms
from django.http import HttpRequest

from engagements.notifications import password_mails

RULES_HELP = (
    "Use at least 8 characters. Avoid common passwords, passwords of digits only, and anything "
    "close to your name or email address."
)


class RelabelledForm(forms.Form):
    """Replaces labels and help texts, and removes placeholders that repeat the label."""

    labels: ClassVar[dict[str, str]] = {}
    helps: ClassVar[dict[str, str]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            field.label = self.labels.get(name, field.label)
            field.help_text = self.helps.get(name, field.help_text)


class NewPasswordForm(RelabelledForm):
    """Labels shared by every form that sets a password."""

    labels: ClassVar = {
        "oldpassword": "Current password",
        "password1": "New password",
        "password2": "New password, again",
    }
    helps: ClassVar = {"password1": RULES_HELP}


class LoginForm(RelabelledForm, account.LoginForm):
    labels: ClassVar = {"remember": "Stay signed in"}


class ReauthenticateForm(RelabelledForm, account.ReauthenticateForm):
    pass


class ResetPasswordForm(RelabelledForm, account.ResetPasswordForm):
    """Answers the same, and as fast, whether or not the address has an account."""

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"])

    def save(self, request: HttpRequest, **kwargs: Any) -> str:
        """Request the mail; a worker looks up the account."""
        address = str(self.cleaned_data["email"])
        origin = f"{request.scheme}://{request.get_host()}"
        password_mails.request(address=address, origin=origin)
        return address


class ResetPasswordKeyForm(NewPasswordForm, account.ResetPasswordKeyForm):
    pass


class ChangePasswordForm(NewPasswordForm, account.ChangePasswordForm):
    pass


class SetPasswordForm(NewPasswordForm, account.SetPasswordForm):
    pass


class ActivateTOTPForm(RelabelledForm, totp.ActivateTOTPForm):
    labels: ClassVar = {"code": "Code from the app"}


class SecondFactorForm(RelabelledForm, second_factor.AuthenticateForm):
    pass


class SecondFactorAgainForm(RelabelledForm, second_factor.ReauthenticateForm):
    pass
