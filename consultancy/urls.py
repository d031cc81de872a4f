"""The site's URLs."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from consultancy import session_views
from consultancy.accounts import email_management_disabled
from consultancy.demo import views as demo
from consultancy.health import healthz
from consultancy.monitoring.metrics import metrics
from consultancy.security import security_txt

handler400 = "consultancy.error_pages.bad_request"
handler403 = "django.views.defaults.permission_denied"
handler404 = "consultancy.error_pages.page_not_found"
handler500 = "consultancy.error_pages.server_error"

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("metrics", metrics, name="metrics"),
    path(".well-known/security.txt", security_txt, name="security-txt"),
    re_path("^accounts/(?:email|confirm-email)/", email_management_disabled),
    # Accounts are connected by their verified address, and created with their role.
    re_path("^accounts/3rdparty/(?:signup/)?$", email_management_disabled),
    path("accounts/sessions/", session_views.show, name="sessions"),
    path("accounts/sessions/<int:pk>/end/", session_views.end, name="session-end"),
    path("accounts/", include("allauth.urls")),
    # The admin site uses the site's own sign-in, with its second factor.
    path("admin/login/", secure_admin_login(admin.site.login)),
    # The site's own page counts wrong passwords.
    path("admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")),
    path("admin/", admin.site.urls),
    path("demo/mails/", demo.mails, name="demo-mails"),
    path("demo/sign-in/<int:pk>/", demo.sign_in, name="demo-sign-in"),
    path("", include("engagements.urls")),
]
