"""Addresses of the pages."""

from django.contrib import admin
from django.contrib.auth import views as accounts
from django.urls import path
from django.views.generic import RedirectView

from portal import health, inquiry_pages, oidc_pages, token_pages, views
from portal.api import api

urlpatterns = [
    path("", views.home, name="home"),
    path("ask/<slug:name>/", views.ask, name="ask"),
    path("ask/<slug:name>/plan/", views.plan, name="plan"),
    path("clusters/<slug:name>/", views.cluster, name="cluster"),
    path("clusters/<slug:name>/progress/", views.progress, name="progress"),
    path("clusters/<slug:name>/approve/", views.approve, name="approve"),
    path("clusters/<slug:name>/refuse/", views.refuse, name="refuse"),
    path("clusters/<slug:name>/change/", views.change, name="change"),
    path("clusters/<slug:name>/change/plan/", views.change_plan, name="change-plan"),
    path("clusters/<slug:name>/extend/", views.extend, name="extend"),
    path("clusters/<slug:name>/remove/", views.remove, name="remove"),
    path("clusters/<slug:name>/cancel/", views.cancel, name="cancel"),
    path("clusters/<slug:name>/retry/", views.retry, name="retry"),
    path("clusters/<slug:name>/kubeconfig/", inquiry_pages.kubeconfig, name="kubeconfig"),
    path("clusters/<slug:name>/verify/", inquiry_pages.verify, name="verify"),
    path("clusters/<slug:name>/logs/", inquiry_pages.logs, name="logs"),
    path("clusters/<slug:name>/inquiries/<int:number>/archive/", inquiry_pages.archive, name="archive"),
    path("clusters/<slug:name>/inquiries/<int:number>/", inquiry_pages.inquiry, name="inquiry"),
    path("tokens/", token_pages.tokens, name="tokens"),
    path("tokens/<int:number>/revoke/", token_pages.revoke, name="revoke-token"),
    path("api/v1/", api.urls),
    path("audit.jsonl", views.trail, name="trail"),
    path("sign-in/", oidc_pages.SignIn.as_view(), name="login"),
    path("oidc/sign-in/", oidc_pages.begin, name="oidc"),
    path("oidc/callback/", oidc_pages.callback, name="oidc-callback"),
    path("sign-out/", accounts.LogoutView.as_view(), name="logout"),
    path("admin/login/", RedirectView.as_view(pattern_name="login", query_string=True)),
    path("admin/", admin.site.urls),
    path("health", health.ready, name="health"),
    path("health/live", health.live, name="live"),
    path("metrics", health.metrics, name="metrics"),
]
