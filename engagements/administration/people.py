"""The admin site's pages of users, roles, customers and second factors."""

from __future__ import annotations

from typing import Any, ClassVar

from allauth.account.admin import EmailAddress
from allauth.mfa.admin import Authenticator
from allauth.socialaccount.admin import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.admin import UserSession
from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.db import models
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from engagements import access
from engagements.administration.permissions import AdminsOnly, NeverDeleted, ReadOnly
from engagements.finance import grants
from engagements.people import sign_ins
from engagements.people.approval_models import FinanceGrant
from engagements.people.models import COUNTRY_CHOICES, Contact, Customer, Membership, Role, User

# Permissions come from roles and memberships only.
admin.site.unregister(Group)
# Addresses belong to accounts; secrets of second factors are never shown.
admin.site.unregister(
    [EmailAddress, Authenticator, SocialAccount, SocialApp, SocialToken, UserSession]
)


class MembershipInline(AdminsOnly, admin.TabularInline[Membership, Any]):
    model = Membership
    extra = 0
    autocomplete_fields = ("user", "customer")


class ContactInline(AdminsOnly, admin.TabularInline[Contact, Customer]):
    model = Contact
    extra = 0
    autocomplete_fields = ("user",)


class NewUserForm(AdminUserCreationForm):
    """A new account, whose user chooses a password by mail unless one is set here."""

    class Meta:
        model = User
        fields = ("email", "name", "role", "is_staff")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        chosen = self.fields["usable_password"] = forms.ChoiceField(
            label="Password",
            required=False,
            initial="false",
            choices={"false": "The user chooses one", "true": "Set a password"},
            widget=forms.RadioSelect(attrs={"class": "radiolist inline"}),
        )
        page = reverse("account_reset_password")
        chosen.help_text = format_html(
            'Users choose a password at <a href="{}">{}</a>.', page, page
        )


class UserForm(UserChangeForm[User]):
    class Meta:
        model = User
        fields = ("email", "name", "role", "is_active", "is_staff", "password")


@admin.register(User)
class UserAdmin(NeverDeleted, BaseUserAdmin):
    """Users, their roles and memberships."""

    form, add_form = UserForm, NewUserForm
    list_display = ("email", "name", "role", "is_active")
    list_filter = ("role", "is_active")
    search_fields = ("email", "name")
    ordering = ("email",)
    filter_horizontal = ()
    inlines: ClassVar = [MembershipInline]
    fieldsets = (
        (None, {"fields": ("email", "name", "password")}),
        ("Permissions", {"fields": ("role", "is_active", "is_staff")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
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
        """Lock an admin's own role and permissions."""
        always = ("last_login", "date_joined")
        if obj is not None and obj.pk == request.user.pk:
            return (*always, "role", "is_active", "is_staff")
        return always

    def save_model(self, request: HttpRequest, obj: User, form: UserForm, change: bool) -> None:
        """Save the account, and delete its previous address so that it no longer signs in.

        The finance role takes effect once two people of finance confirm it. A changed address or
        password of a finance user suspends the role, because the admin could sign in as that user.
        """
        previous = User.objects.filter(pk=obj.pk).first()
        is_finance = previous is not None and previous.role == Role.FINANCE
        wants_finance = obj.role == Role.FINANCE and not is_finance
        if wants_finance:
            obj.role = previous.role if previous else Role.NONE
        elif is_finance and {"email", "password"} & set(form.changed_data):
            obj.role = Role.NONE
            messages.warning(request, f"{obj} must be given the finance role again.")
        super().save_model(request, obj, form, change)
        if wants_finance:
            grants.propose(user=obj, by=access.actor(request))
            messages.info(request, "Two people of finance confirm the role.")
        EmailAddress.objects.filter(user=obj).exclude(email__iexact=obj.email).delete()

    def save_related(
        self, request: HttpRequest, form: UserForm, formsets: Any, change: bool
    ) -> None:
        """Save, and keep this session when admins change their own account."""
        super().save_related(request, form, formsets, change)
        if form.instance.pk == request.user.pk:
            sign_ins.keep_current(user=form.instance, request=request)


@admin.register(FinanceGrant)
class FinanceGrantAdmin(ReadOnly, admin.ModelAdmin[FinanceGrant]):
    """Proposed people of finance, whom two people of finance confirm on their own page."""

    list_display = ("user", "proposed_by", "proposed_at", "confirmed_by", "granted_by")


@admin.register(Customer)
class CustomerAdmin(NeverDeleted, admin.ModelAdmin[Customer]):
    """Customers with their contacts and memberships."""

    list_display = ("name", "country", "currency")
    search_fields = ("name",)
    inlines: ClassVar = [ContactInline, MembershipInline]

    def formfield_for_dbfield(
        self, db_field: models.Field[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> forms.Field | None:
        """Offer a list of countries."""
        if db_field.name == "country":
            return forms.ChoiceField(choices=[("", "Choose a country"), *COUNTRY_CHOICES])
        return super().formfield_for_dbfield(db_field, request, **kwargs)


@admin.register(Contact)
class ContactAdmin(AdminsOnly, admin.ModelAdmin[Contact]):
    """Contacts of customers."""

    list_display = ("name", "customer", "email", "position")
    search_fields = ("name", "email", "customer__name")
    autocomplete_fields = ("customer", "user")


@admin.register(Membership)
class MembershipAdmin(AdminsOnly, admin.ModelAdmin[Membership]):
    """Memberships of users in customers."""

    list_display = ("user", "customer", "rights")
    list_filter = ("rights",)
    search_fields = ("user__email", "customer__name")
    autocomplete_fields = ("user", "customer")


@admin.register(Authenticator)
class SecondFactorAdmin(AdminsOnly, admin.ModelAdmin[Authenticator]):
    """Second factors: removed when a phone is lost, never shown or added.

    Removal ends every session of the user, because the phone may be signed in.
    """

    list_display = fields = ("user", "type", "created_at", "last_used_at")
    search_fields = ("user__email", "user__name")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Forbid filters on the secret, which would reveal it letter by letter."""
        return lookup.partition("__")[0] != "data" and super().lookup_allowed(
            lookup, value, request
        )

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def delete_model(self, request: HttpRequest, obj: Authenticator) -> None:
        super().delete_model(request, obj)
        grants.suspend(obj.user)
        sign_ins.end_all(user=obj.user)

    def delete_queryset(
        self, request: HttpRequest, queryset: models.QuerySet[Authenticator]
    ) -> None:
        people = list(User.objects.filter(authenticator__in=queryset).distinct())
        super().delete_queryset(request, queryset)
        for user in people:
            grants.suspend(user)
            sign_ins.end_all(user=user)
