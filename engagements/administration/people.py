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
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import HttpRequest, HttpResponse

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


class MembershipInline(ReadOnly, admin.TabularInline[Membership, Any]):
    model = Membership
    extra = 0


class ContactInline(AdminsOnly, admin.TabularInline[Contact, Customer]):
    model = Contact
    extra = 0
    autocomplete_fields = ("user",)


class NewUserForm(forms.ModelForm[User]):
    """A new account without a password, so that no admin signs in as its user."""

    class Meta:
        model = User
        fields = ("email", "name", "role", "is_staff")
        help_texts: ClassVar = {"email": "Users choose a password by mail."}

    def save(self, commit: bool = True) -> User:
        """Save the account with an unusable password."""
        self.instance.set_unusable_password()
        return super().save(commit)


class UserForm(forms.ModelForm[User]):
    class Meta:
        model = User
        fields = ("email", "name", "role", "is_active", "is_staff")


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
        (None, {"fields": ("email", "name")}),
        ("Permissions", {"fields": ("role", "is_active", "is_staff")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (
            None,
            {
                "fields": ("email", "name", "role", "is_staff"),
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

        The finance role takes effect once two people of finance confirm it. A changed address of a
        finance user suspends the role, because the admin could sign in as that user; of a
        signatory, it ends the independence of the membership.
        """
        previous = User.objects.filter(pk=obj.pk).first()
        is_finance = previous is not None and previous.role == Role.FINANCE
        wants_finance = obj.role == Role.FINANCE and not is_finance
        if wants_finance:
            obj.role = previous.role if previous else Role.NONE
        elif is_finance and "email" in form.changed_data:
            obj.role = Role.NONE
            messages.warning(request, f"{obj} must be given the finance role again.")
        super().save_model(request, obj, form, change)
        if "email" in form.changed_data:
            obj.memberships.update(is_independent=False)
        if wants_finance:
            grants.propose(user=obj, by=access.actor(request))
            messages.info(request, "Two people of finance confirm the role.")
        EmailAddress.objects.filter(user=obj).exclude(email__iexact=obj.email).delete()

    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        """Decline: users choose their passwords by mail, so that no admin signs in as another."""
        raise PermissionDenied("Users choose their passwords by mail.")

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
class MembershipAdmin(ReadOnly, admin.ModelAdmin[Membership]):
    """Memberships of users in customers, which the customers' pages change and record."""

    list_display = ("user", "customer", "rights")
    list_filter = ("rights",)
    search_fields = ("user__email", "customer__name")


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
