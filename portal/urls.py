"""Addresses of the pages."""

from django.contrib import admin
from django.contrib.auth import views as accounts
from django.urls import path

from portal import views

urlpatterns = [
    path("", views.home, name="home"),
    path("ask/<slug:name>/", views.ask, name="ask"),
    path("ask/<slug:name>/plan/", views.plan, name="plan"),
    path("clusters/<slug:name>/", views.cluster, name="cluster"),
    path("clusters/<slug:name>/progress/", views.progress, name="progress"),
    path("clusters/<slug:name>/approve/", views.approve, name="approve"),
    path("clusters/<slug:name>/refuse/", views.refuse, name="refuse"),
    path("clusters/<slug:name>/extend/", views.extend, name="extend"),
    path("clusters/<slug:name>/remove/", views.remove, name="remove"),
    path("clusters/<slug:name>/retry/", views.retry, name="retry"),
    path("audit.jsonl", views.trail, name="trail"),
    path("sign-in/", accounts.LoginView.as_view(), name="login"),
    path("sign-out/", accounts.LogoutView.as_view(), name="logout"),
    path("admin/", admin.site.urls),
    path("health", views.health, name="health"),
]
