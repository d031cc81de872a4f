"""The admin site: users and customers, and all history read-only."""

from django.contrib import admin

from engagements.administration import history, people

__all__ = ["history", "people"]

admin.site.site_header = admin.site.site_title = "Twofold"
admin.site.index_title = "Permissions and history"
