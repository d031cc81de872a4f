"""Settings of accounts, passwords and second factors that no variable changes."""

AUTH_USER_MODEL = "engagements.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "consultancy.accounts.AccountAdapter"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Twofold: "
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "consultancy.accounts.PasswordResetTokens"  # noqa: S105  names a class
ACCOUNT_FORMS = {
    "login": "consultancy.account_forms.LoginForm",
    "reauthenticate": "consultancy.account_forms.ReauthenticateForm",
    "reset_password": "consultancy.account_forms.ResetPasswordForm",
    "reset_password_from_key": "consultancy.account_forms.ResetPasswordKeyForm",
    "change_password": "consultancy.account_forms.ChangePasswordForm",
    "set_password": "consultancy.account_forms.SetPasswordForm",
}
# "key" is an email address together with the client's network (consultancy/login_limits.py).
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key,20/h/key"}
ACCOUNT_LOGOUT_REDIRECT_URL = LOGIN_URL
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
MFA_ADAPTER = "consultancy.accounts.SecondFactorAdapter"
MFA_FORMS = {
    "activate_totp": "consultancy.account_forms.ActivateTOTPForm",
    "authenticate": "consultancy.account_forms.SecondFactorForm",
    "reauthenticate": "consultancy.account_forms.SecondFactorAgainForm",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
# Addresses are set by the consultancy, so they need no verification.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_ISSUER = "Twofold"
