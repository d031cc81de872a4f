"""Django's PostgreSQL back end, on the embedded server."""
