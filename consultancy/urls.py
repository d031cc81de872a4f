"""The site's addresses."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path, re_path
from django.views.generic import RedirectView

from consultancy.accounts import no_such_page
from consultancy.health import healthz

handler400 = "consultancy.error_pages.bad_request"
handler403 = "django.views.defaults.permission_denied"
handler404 = "consultancy.error_pages.page_not_found"
handler500 = "consultancy.error_pages.server_error"

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    re_path("^accounts/(?:email|confirm-email)/", no_such_page),
    path("accounts/", include("allauth.urls")),
    # One door for everybody: the site's own sign-in, with its second factor.
    path("admin/login/", secure_admin_login(admin.site.login)),
    # And one page on which a password may be tried: it counts the attempts.
    path("admin/password_change/", RedirectView.as_view(pattern_name="account_change_password")),
    path("admin/", admin.site.urls),
    path("", include("engagements.urls")),
]
