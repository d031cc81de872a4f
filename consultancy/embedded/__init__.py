"""PostgreSQL and Valkey from wheels, for a machine where neither is installed.

They serve development, tests and the demo; production names its own servers with
`DATABASE_URL` and `BROKER_URL` and never comes here.
"""
