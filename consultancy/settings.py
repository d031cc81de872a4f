"""Django settings, read from the environment.

consultancy/README.md explains each variable. In production (`TWOFOLD_ENV=production`) no default
is unsafe: the site refuses to start and names the missing variable.
"""

from datetime import timedelta
from pathlib import Path

import django_stubs_ext
from celery.schedules import schedule
from django.core.exceptions import ImproperlyConfigured

from consultancy import api_settings, company_details, environment, log_settings, oidc_settings
from consultancy.account_settings import *  # noqa: F403  settings are names of this module
from consultancy.embedded.place import Place
from consultancy.embedded.postgres import Postgres
from consultancy.embedded.valkey import Valkey

# Makes generic annotations such as `ModelAdmin[Run]` valid at run time.
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
env = environment.Environment()

PRODUCTION = env.choice("TWOFOLD_ENV", ("development", "production")) == "production"
TWOFOLD_HOME = env.path("TWOFOLD_HOME", BASE_DIR / ".twofold")
PLACE = Place(TWOFOLD_HOME)

DEBUG = env.flag("TWOFOLD_DEBUG", default=False)
SECRET_KEY = env.secret_key(production=PRODUCTION, home=TWOFOLD_HOME)
ALLOWED_HOSTS = env.hosts(production=PRODUCTION)
CSRF_TRUSTED_ORIGINS = env.words("TWOFOLD_ORIGINS")
# The base URL of links in mails.
_PORT = env.optional("TWOFOLD_PORT") or 8000
SITE_ADDRESS = f"https://{ALLOWED_HOSTS[0]}" if PRODUCTION else f"http://localhost:{_PORT}"
if PRODUCTION and DEBUG:
    raise ImproperlyConfigured(
        "TWOFOLD_DEBUG is on in production, where error pages would expose source and settings. "
        "Unset TWOFOLD_DEBUG."
    )

INSTALLED_APPS = [
    "consultancy",
    "engagements.apps.EngagementsConfig",
    "benchmarks.apps.BenchmarksConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "pgtrigger",
    "django.forms",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
]

MIDDLEWARE = [
    "consultancy.logs.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "consultancy.security.ContentSecurityPolicyMiddleware",
    "consultancy.security.NullByteMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "consultancy.security.PrivateMiddleware",
    "engagements.common.client_ip.ClientAddressMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "consultancy.security.SecondFactorMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "consultancy.urls"
WSGI_APPLICATION = "consultancy.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "engagements.context_processors.site",
            ],
        },
    }
]
# Load form widgets from templates/ too.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

# Configured servers, or embedded ones that start on first use.
POSTGRES = Postgres(PLACE)
VALKEY = Valkey(PLACE)
DATABASES = {
    "default": env.database(production=PRODUCTION)
    or environment.database_of(POSTGRES.url(), engine="consultancy.embedded.backend")
}
DATABASES["default"]["CONN_MAX_AGE"] = 60 if PRODUCTION else 0
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

BROKER_IS_EMBEDDED = env.optional("BROKER_URL") is None
CELERY_BROKER_URL = env.broker(production=PRODUCTION) or VALKEY.url
CACHES = {"default": environment.cache_of(CELERY_BROKER_URL)}
# State lives in the database: there is no result back end, and a sweep resends lost messages. So
# publishing fails fast instead of delaying a web request.
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 1.0,
    "socket_timeout": 3.0,
    "socket_keepalive": True,
    # Redelivery after a worker's death. A run's lease expires sooner, and the sweep requeues it.
    "visibility_timeout": 3600,
    "max_retries": 1,
    "interval_start": 0,
    "interval_max": 0.2,
}
CELERY_BROKER_CONNECTION_TIMEOUT = 2.0
# Workers, unlike web processes, wait for the broker to return.
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {
    "benchmarks.tasks.measure": {"queue": "gpu"},
    "benchmarks.tasks.check_benchmark": {"queue": "gpu"},
    "benchmarks.tasks.*": {"queue": "documents"},
    "engagements.tasks.*": {"queue": "documents"},
    "consultancy.tasks.*": {"queue": "documents"},
}
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "consultancy.beat.Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(TWOFOLD_HOME / "beat-schedule")
CELERY_BEAT_SCHEDULE = {
    "enqueue waiting runs, expire leases": {
        "task": "benchmarks.tasks.sweep",
        "schedule": schedule(10.0),
        "options": {"expires": 10.0},
    },
    "enqueue due deadlines, documents and mail": {
        "task": "engagements.tasks.sweep",
        "schedule": schedule(30.0),
        "options": {"expires": 30.0},
    },
    "verify the data once a day": {
        "task": "consultancy.tasks.check_data",
        "schedule": schedule(3600.0),
        "options": {"expires": 3600.0},
    },
}

# The web process serves static files; records are in a bucket or a folder.
STATIC_URL = "static/"
STATIC_ROOT = env.path("TWOFOLD_STATIC_ROOT", TWOFOLD_HOME / "static")
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = not PRODUCTION
RECORDS_FOLDER = env.path("TWOFOLD_RECORDS_FOLDER", TWOFOLD_HOME / "records")
STORAGES = {
    "default": env.records(RECORDS_FOLDER),
    "records": env.records(RECORDS_FOLDER),
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}

# Isolation that a run requires: values of the referee's `--require-isolation`, or `none`.
TWOFOLD_REQUIRED_ISOLATION = env.isolation(production=PRODUCTION)
# Whether records that conclude a run must contain the nonces of its attempt.
TWOFOLD_REQUIRED_NONCES = PRODUCTION

# Passkeys need https, except on this machine.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not PRODUCTION
# Of finance, admins and signatories.
SECOND_FACTOR_REQUIRED = env.flag("TWOFOLD_REQUIRE_SECOND_FACTOR", default=PRODUCTION)

# The consultancy's OIDC provider, for its staff (consultancy/oidc.py).
SOCIALACCOUNT_ADAPTER = "consultancy.oidc.ProviderAdapter"
SOCIALACCOUNT_PROVIDERS = oidc_settings.provider(env, production=PRODUCTION)
OIDC_ROLES = oidc_settings.roles(env)
OIDC_GROUPS_CLAIM = env.optional("TWOFOLD_OIDC_GROUPS_CLAIM") or "groups"
# A form that redirects to the provider would need it in the policy's form-action.
SOCIALACCOUNT_LOGIN_ON_GET = True
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = "oidc"

# The first rejects oversized requests before the others store any file.
FILE_UPLOAD_HANDLERS = [
    "engagements.common.uploads.Bounded",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

REST_FRAMEWORK = api_settings.REST_FRAMEWORK
SPECTACULAR_SETTINGS = api_settings.SCHEMA

globals().update(env.email(production=PRODUCTION))

# The consultancy's details on contracts and documents.
CONSULTANCY = company_details.consultancy(env, production=PRODUCTION)
JURISDICTION = company_details.jurisdiction(env, production=PRODUCTION)
BANK_ACCOUNT = company_details.bank_account(env, production=PRODUCTION)
INVOICE_CONTACT = company_details.invoice_contact(env)
OTHER_BANK_ACCOUNTS = company_details.other_bank_accounts(env)
# The largest amount, in an invoice's currency, that one person of finance writes off, or credits,
# alone.
WRITE_OFF_LIMIT = company_details.write_off_limit(env)

# How long after its confirmation a refund account waits for the first money.
REFUND_ACCOUNT_WAIT = timedelta(
    days=env.number("TWOFOLD_REFUND_ACCOUNT_WAIT_DAYS", default=3 if PRODUCTION else 0)
)

# Whether the environment provides the referee's signing key; only the gpu worker gets it.
TWOFOLD_SIGNING_KEY_IS_SET = any(
    env.optional(name) for name in ("TWOFOLD_SIGNING_KEY_FILE", "TWOFOLD_SIGNING_KEY")
)

# Signs contracts. engagements.documents.certificate reads it, and generates one in development.
TWOFOLD_CERTIFICATE_FILE = env.optional("TWOFOLD_CERTIFICATE_FILE")
TWOFOLD_CERTIFICATE = env.optional("TWOFOLD_CERTIFICATE")
# The time-stamp authority (RFC 3161) of documents' signatures.
TWOFOLD_TIMESTAMP_URL = env.optional("TWOFOLD_TIMESTAMP_URL")

# Set by the demonstration: a banner, a sign-in button for each person, and a page of its mails. A
# system check refuses it in production.
TWOFOLD_DEMO = env.flag("TWOFOLD_DEMO", default=False)
# Whether acceptance runs need a calibrated baseline; in development presets are sealed as they are.
TWOFOLD_REQUIRED_CALIBRATION = PRODUCTION


LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
FORMAT_MODULE_PATH = "consultancy.formats"
TIME_ZONE = "UTC"
USE_TZ = True

# Scripts and styles load from this site only; none is inline. Bars are SVG, with their lengths in
# attributes.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SECURE_SSL_REDIRECT = PRODUCTION
# The container's health check and Prometheus use plain HTTP inside the network.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^metrics$"]
globals().update(env.hsts(production=PRODUCTION))
# W005 and W021 ask for subdomains and preload. Both affect hosts that Twofold does not serve, so
# the operator decides.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
if env.flag("TWOFOLD_BEHIND_PROXY", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Prometheus reads /metrics with this token; without one the page is 404.
TWOFOLD_METRICS_TOKEN = env.optional("TWOFOLD_METRICS_TOKEN")
# In /.well-known/security.txt; without one the page is 404.
TWOFOLD_SECURITY_CONTACT = env.optional("TWOFOLD_SECURITY_CONTACT")

LOGGING = log_settings.logging(
    formatter=env.choice("TWOFOLD_LOG_FORMAT", ("line", "json")),
    level=env.choice("TWOFOLD_LOG_LEVEL", ("INFO", "DEBUG", "WARNING", "ERROR")),
    production=PRODUCTION,
)
