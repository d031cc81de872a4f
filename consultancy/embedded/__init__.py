"""PostgreSQL and Valkey from wheels, for development, tests and the demonstration.

Production configures its own servers with `DATABASE_URL` and `BROKER_URL`.
"""
