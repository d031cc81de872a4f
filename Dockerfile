# Two images from one source: `web` (without torch; also the documents worker and beat) and
# `gpu-worker` (torch and Triton). docker-compose.yml combines them.

FROM python:3.11-slim-bookworm AS base
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONPATH=/srv/twofold \
    PATH=/opt/venv/bin:$PATH \
    DJANGO_SETTINGS_MODULE=consultancy.settings \
    TWOFOLD_HOME=/var/lib/twofold \
    TWOFOLD_STATIC_ROOT=/srv/static
# Pango renders the PDFs. DejaVu supplies glyphs missing from the documents' own fonts, Noto those
# for Chinese, Japanese and Korean, without which such names are blank on invoices.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fontconfig \
        fonts-dejavu-core fonts-noto-cjk \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/twofold --create-home twofold
WORKDIR /srv/twofold

FROM base AS build
COPY .ci/tools.txt ./
RUN pip install --no-cache-dir --requirement tools.txt
ENV UV_LINK_MODE=copy UV_CACHE_DIR=/var/cache/uv VIRTUAL_ENV=/opt/venv
RUN uv venv /opt/venv
COPY pyproject.toml .ci/constraints.txt ./
RUN --mount=type=cache,target=/var/cache/uv \
    uv pip install --requirement pyproject.toml --extra site --constraint constraints.txt \
    && uvx --from cyclonedx-bom cyclonedx-py environment /opt/venv --output-file /opt/venv/sbom.json

FROM build AS build-gpu
RUN --mount=type=cache,target=/var/cache/uv \
    uv pip install --requirement pyproject.toml --extra site --extra worker --constraint constraints.txt \
    && uvx --from cyclonedx-bom cyclonedx-py environment /opt/venv --output-file /opt/venv/sbom.json

FROM base AS web
COPY --from=build /opt/venv /opt/venv
COPY . .
# Static file names contain digests. collectstatic needs valid settings; none of these are kept.
RUN TWOFOLD_ENV=production \
    TWOFOLD_SECRET_KEY="$(python -c 'import secrets; print(secrets.token_urlsafe(50))')" \
    TWOFOLD_HOSTS=localhost EMAIL_URL=consolemail:// TWOFOLD_FROM_EMAIL=none@localhost \
    TWOFOLD_COMPANY_NAME=none TWOFOLD_COMPANY_ADDRESS=none TWOFOLD_COMPANY_VAT_ID=none TWOFOLD_COMPANY_IBAN=none \
    BROKER_URL=redis://none DATABASE_URL=postgresql://none/none \
    python manage.py collectstatic --no-input
USER twofold
VOLUME /var/lib/twofold
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=20s --retries=4 \
    CMD ["python", "-m", "consultancy.probe"]
CMD ["gunicorn", "consultancy.wsgi", "--bind", "0.0.0.0:8000", "--workers", "2", \
     "--threads", "4", "--worker-tmp-dir", "/dev/shm", "--no-control-socket", \
     "--access-logfile", "-", "--access-logformat", "%(h)s %(m)s %(U)s %(s)s %(M)sms"]

FROM base AS gpu-worker
# Triton compiles a launcher for each kernel with gcc.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build-gpu /opt/venv /opt/venv
COPY . .
ENV TRITON_CACHE_DIR=/var/lib/twofold/triton \
    TORCHINDUCTOR_CACHE_DIR=/var/lib/twofold/inductor
USER twofold
VOLUME /var/lib/twofold
CMD ["celery", "-A", "consultancy", "worker", "--queues", "gpu", "--concurrency", "1", \
     "--hostname", "gpu@%h", "--loglevel", "INFO"]
