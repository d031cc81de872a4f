"""`twofold runner`: measure the runs of a site that is reached by HTTPS alone.

No Django, no database and no broker. A run is measured by the starter of the site's own workers
(`benchmarks.measuring`).
"""
