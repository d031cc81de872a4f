"""The records of benchmarks: formats, canonical JSON and signatures."""
