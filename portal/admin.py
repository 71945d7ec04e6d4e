"""Django's admin: people, teams and roles are changed here; the rest is only read."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest

from portal.models import Cluster, Event, Inquiry, Job, Membership, Notice, Team, Template, Token, User, Version


class ReadOnly(admin.ModelAdmin):
    """Rows that only actions of the portal write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Memberships(admin.TabularInline):
    """Roles of a team."""

    model = Membership
    extra = 1


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):
    """Teams with their quotas and roles."""

    list_display = ("name", "month", "clusters_at_once")
    inlines = [Memberships]


@admin.register(User)
class PortalUserAdmin(UserAdmin):
    """People; `platform team` beside Django's own fields."""

    fieldsets = (*(UserAdmin.fieldsets or ()), ("Portal", {"fields": ("is_platform",)}))


@admin.register(Template)
class TemplateAdmin(admin.ModelAdmin):
    """Templates can be withdrawn; versions come from files (`python -m portal load_catalogue`)."""

    list_display = ("name", "withdrawn")
    readonly_fields = ("name",)


@admin.register(Inquiry)
class InquiryAdmin(ReadOnly):
    """Inquiries without what people sent, without answers, which may be one person's alone, and without archives."""

    exclude = ("wish", "answer", "archive")
    list_select_related = ("cluster",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer("wish", "answer", "archive")


for model in (Cluster, Event, Job, Notice, Token, Version):
    admin.site.register(model, ReadOnly)
