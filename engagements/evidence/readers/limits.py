"""Limits of evidence files."""

from __future__ import annotations

KIB, MIB, GIB = 2**10, 2**20, 2**30

# A trace of an hour is a few gigabytes; a gzip bomb is a thousand times its own size.
DECOMPRESSED_BYTES = 8 * GIB
# Block size of reading. Larger blocks are not faster and need more memory.
BLOCK_BYTES = 2 * MIB
# An event with its arguments, and the text before and after the events.
EVENT_BYTES = 8 * MIB
HEAD_BYTES = 64 * MIB

# Device operations, launches and ranges stored for the sums: at most 48 bytes each.
DEVICE_OPERATIONS = 8_000_000
LAUNCHES = 8_000_000
RANGES = 4_000_000
# Number of different names, and their total characters.
NAMES = 100_000
NAME_CHARACTERS = 64 * MIB
LONGEST_NAME = 4_000
# Listed entries of a summary; the rest is summed in one line.
LISTED_KERNELS = 1_000
LISTED_GROUPS = 200
LISTED_STEPS = 500
TIMELINE_BUCKETS = 1_000
# Kernels whose time is kept by bucket.
TIMELINE_KERNELS = 40
WARNINGS = 50

TABLE_ROWS = 20_000_000
MEASURED_LAUNCHES = 100_000
CELL_CHARACTERS = 128 * KIB
# Each row of traffic takes 28 bytes, and each distinct shape its text.
TRAFFIC_ROWS = 10_000_000
TRAFFIC_SHAPES = 300_000
TRAFFIC_COLUMNS = 64
TRAFFIC_BATCH_ROWS = 50_000
TRAFFIC_BATCH_BYTES = 16 * MIB
PARQUET_GROUP_BYTES = 1 * GIB
LINE_BYTES = 1 * MIB
LISTED_SHAPES = 200
CURVE_POINTS = 100
MODELS = 100

SQL_SECONDS = 300.0
