"""Settings of Django. Everything that differs between installations is an environment variable (docs/portal.md)."""

import os

import dj_database_url

from portal import folders

DATA = folders.data()
ORIGIN = os.environ.get("MULLION_PORTAL_ORIGIN", "")
"""Address at which browsers reach the portal, such as https://clusters.example.com; empty on loopback alone."""
_HTTPS = ORIGIN.startswith("https://")

SECRET_KEY = os.environ.get("MULLION_PORTAL_SECRET_KEY") or folders.kept_secret("secret-key")
DEBUG = False
ALLOWED_HOSTS = [ORIGIN.partition("://")[2].partition(":")[0]] if ORIGIN else ["127.0.0.1", "localhost", "[::1]"]
CSRF_TRUSTED_ORIGINS = [ORIGIN] if ORIGIN else []

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_tasks",
    "django_tasks_db",
    "portal",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "portal.headers.Headers",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "portal.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DATABASES = {
    "default": dj_database_url.parse(
        os.environ.get("MULLION_PORTAL_DATABASE") or f"sqlite:///{DATA / 'portal.db'}",
        conn_max_age=60,
        conn_health_checks=True,  # a request does not get a connection that a restart of the database has ended
    )
}
if "sqlite3" in DATABASES["default"].get("ENGINE", ""):
    # Web server and workers are processes of one machine: each write waits up to 20 s for another one.
    DATABASES["default"]["OPTIONS"] = {
        "timeout": 20,
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
elif "postgresql" in DATABASES["default"].get("ENGINE", ""):
    # A host that vanishes sends nothing: without limits a worker would wait a quarter of an hour at its connection, and
    # another one would begin its job again. Together they stay below LOST_SECONDS. The URL may set others.
    limits = {"connect_timeout": 5, "tcp_user_timeout": 10_000}
    DATABASES["default"]["OPTIONS"] = limits | DATABASES["default"].get("OPTIONS", {})
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
API_CALLS_A_MINUTE, API_CHANGES_A_MINUTE, API_FAILURES_A_MINUTE = 120, 20, 30
"""Limits of the API: calls and changes of a token, calls with an unknown token from one address."""
SIGN_INS_OF_A_NAME_A_MINUTE, SIGN_INS_A_MINUTE = 10, 60
"""Limits of sign-ins by password: with one name, and from one address, behind which may be an office."""
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},  # by default 300, above which counters of these limits are dropped
    }
}
JOBS, INQUIRIES, REPORTS = "default", "inquiries", "reports"
"""Queues: of jobs, which change clusters; of kubeconfigs, which take seconds; of tests and logs, up to an hour."""
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": [JOBS, INQUIRIES, REPORTS]}}

AUTH_USER_MODEL = "portal.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{each}"}
    for each in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
OIDC = {
    key.removeprefix("MULLION_PORTAL_OIDC_"): value
    for key, value in os.environ.items()
    if key.startswith("MULLION_PORTAL_OIDC_")
}
"""Settings of sign-in by OpenID Connect (portal/oidc.py); empty: people sign in only by password."""
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SECURE_SSL_REDIRECT = _HTTPS
SECURE_HSTS_SECONDS = 365 * 86400 if _HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = _HTTPS
if os.environ.get("MULLION_PORTAL_BEHIND_PROXY"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}
