"""The admin site: admins manage people here. Money and history can be read, never written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from allauth.account.admin import EmailAddress
from allauth.mfa.admin import Authenticator
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.db import models
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from engagements import access
from engagements.audit.models import Audit, Finding
from engagements.billing.models import Counter, Invoice, InvoiceLine, Reminder
from engagements.billing.payment_models import BankImport, BankLine, Payment
from engagements.contracts.milestones.models import Milestone
from engagements.contracts.models import Acceptance, ContractVersion
from engagements.contracts.time_box.models import TimeBox
from engagements.documents.models import Document
from engagements.engagement.models import Engagement
from engagements.event_log.models import Event
from engagements.payouts.models import OverpaymentRefund
from engagements.people import sign_ins
from engagements.people.models import Contact, Customer, Membership, User
from engagements.runs.models import EngagementRun
from engagements.settlements.models import Settlement

# Roles and memberships say who may do what; there is no second system beside them.
admin.site.unregister(Group)
# An address comes with its account, and a second factor's secret is nobody's to read.
admin.site.unregister([EmailAddress, Authenticator])


class ForAdmins(admin.options.BaseModelAdmin[Any]):
    """Rows that admins manage, whatever Django's own permissions say."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return access.is_admin(request.user)

    def has_view_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return access.is_admin(request.user)

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return access.is_admin(request.user)

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return access.is_admin(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return access.is_admin(request.user)


class Kept(ForAdmins):
    """Rows that history names: they are changed, never deleted."""

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


class ReadOnly(Kept):
    """Rows that services alone write; there is no other way around their rules."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False


class MembershipInline(ForAdmins, admin.TabularInline[Membership, Any]):
    model = Membership
    extra = 0
    autocomplete_fields = ("user", "customer")


class ContactInline(ForAdmins, admin.TabularInline[Contact, Customer]):
    model = Contact
    extra = 0
    autocomplete_fields = ("user",)


class NewUserForm(AdminUserCreationForm):
    """A new account; a password of their own comes by the sign-in page's reset."""

    class Meta:
        model = User
        fields = ("email", "name", "role", "is_staff")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chosen = self.fields["usable_password"] = forms.ChoiceField(
            label="Password",
            required=False,
            initial="false",
            choices={"false": "They choose one themselves", "true": "Set one here"},
            widget=forms.RadioSelect(attrs={"class": "radiolist inline"}),
        )
        page = reverse("account_reset_password")
        chosen.help_text = format_html('Where one chooses: <a href="{}">{}</a>.', page, page)


class UserForm(UserChangeForm[User]):
    class Meta:
        model = User
        fields = ("email", "name", "role", "is_active", "is_staff", "password")


@admin.register(User)
class UserAdmin(Kept, BaseUserAdmin):
    """People, their roles and memberships."""

    form, add_form = UserForm, NewUserForm
    list_display = ("email", "name", "role", "is_active")
    list_filter = ("role", "is_active")
    search_fields = ("email", "name")
    ordering = ("email",)
    filter_horizontal = ()
    inlines: ClassVar = [MembershipInline]
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        ("What they may do", {"fields": ("role", "is_active", "is_staff")}),
        ("When", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (
            None,
            {
                "fields": (
                    "email",
                    "name",
                    "role",
                    "is_staff",
                    "usable_password",
                    "password1",
                    "password2",
                )
            },
        ),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Nobody changes what they themselves may do."""
        always = ("last_login", "date_joined")
        if obj is not None and obj.pk == request.user.pk:
            return (*always, "role", "is_active", "is_staff")
        return always

    def save_model(self, request: HttpRequest, obj: User, form: UserForm, change: bool) -> None:
        """Save; whoever reads the mail of an address that was changed opens nothing with it."""
        super().save_model(request, obj, form, change)
        EmailAddress.objects.filter(user=obj).exclude(email__iexact=obj.email).delete()

    def save_related(
        self, request: HttpRequest, form: UserForm, formsets: Any, change: bool
    ) -> None:
        """Save; an admin's own change ends their other sign-ins and not this one."""
        super().save_related(request, form, formsets, change)
        if form.instance.pk == request.user.pk:
            sign_ins.keep_current(user=form.instance, request=request)


@admin.register(Customer)
class CustomerAdmin(Kept, admin.ModelAdmin[Customer]):
    """Client companies with their contacts and the rights of their people."""

    list_display = ("name", "country", "currency")
    search_fields = ("name",)
    inlines: ClassVar = [ContactInline, MembershipInline]


@admin.register(Contact)
class ContactAdmin(ForAdmins, admin.ModelAdmin[Contact]):
    """Persons of client companies."""

    list_display = ("name", "customer", "email", "position")
    search_fields = ("name", "email", "customer__name")
    autocomplete_fields = ("customer", "user")


@admin.register(Membership)
class MembershipAdmin(ForAdmins, admin.ModelAdmin[Membership]):
    """What a person may do for a client company."""

    list_display = ("user", "customer", "rights")
    list_filter = ("rights",)
    search_fields = ("user__email", "customer__name")
    autocomplete_fields = ("user", "customer")


@admin.register(Authenticator)
class SecondFactorAdmin(ForAdmins, admin.ModelAdmin[Authenticator]):
    """Second factors: removed when a phone was lost; never read, never added for somebody.

    Whoever has the phone may be signed in there: every sign-in of its owner ends.
    """

    list_display = fields = ("user", "type", "created_at", "last_used_at")
    search_fields = ("user__email", "user__name")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Nobody asks for the secret letter by letter: a list may be filtered by any column."""
        return lookup.partition("__")[0] != "data" and super().lookup_allowed(
            lookup, value, request
        )

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def delete_model(self, request: HttpRequest, obj: Authenticator) -> None:
        super().delete_model(request, obj)
        sign_ins.end_all(user=obj.user)

    def delete_queryset(
        self, request: HttpRequest, queryset: models.QuerySet[Authenticator]
    ) -> None:
        people = list(User.objects.filter(authenticator__in=queryset).distinct())
        super().delete_queryset(request, queryset)
        for user in people:
            sign_ins.end_all(user=user)


class HistoryAdmin(ReadOnly, admin.ModelAdmin[Any]):
    """What happened and what was agreed, to look at."""

    # What a row is called names what it belongs to, and its currency.
    list_select_related = True

    def get_list_display(self, request: HttpRequest) -> list[str | Callable[[Any], str | bool]]:
        """What it is, and the first moment that it tells."""
        moments = [c.name for c in self.model._meta.fields if isinstance(c, models.DateTimeField)]
        return ["__str__", *moments[:1]]

    def get_fields(
        self, request: HttpRequest, obj: models.Model | None = None
    ) -> list[str | list[str] | tuple[str, ...] | tuple[()]]:
        """Every column but bytes."""
        columns = self.model._meta.fields
        return [c.name for c in columns if not isinstance(c, models.BinaryField)]

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        bytes_ = [c.name for c in self.model._meta.fields if isinstance(c, models.BinaryField)]
        return super().get_queryset(request).defer(*bytes_)


admin.site.register(
    [
        Acceptance,
        Audit,
        BankImport,
        BankLine,
        ContractVersion,
        Counter,
        Document,
        Engagement,
        EngagementRun,
        Event,
        Finding,
        Invoice,
        InvoiceLine,
        Milestone,
        OverpaymentRefund,
        Payment,
        Reminder,
        Settlement,
        TimeBox,
    ],
    HistoryAdmin,
)

admin.site.site_header = admin.site.site_title = "Twofold"
admin.site.index_title = "Who may do what, and what happened"
