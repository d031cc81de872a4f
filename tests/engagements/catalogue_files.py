"""Committed measurements of the catalogue, made up in a folder: signed records and surveys."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.published import surveys
from benchmarks.records import records, signatures
from benchmarks.records.canonical import digest, digest_of_bytes
from benchmarks.records.signatures import SigningKey
from benchmarks.verdict import consistency
from kernels import catalogue
from tests.harness.samples import made_record, replicate_entry, workload_entry

H200: dict[str, Any] = {"kind": "cuda", "name": "NVIDIA H200", "memory_bytes": 1 << 37}
CEILINGS: dict[str, Any] = {"copy_bytes_per_s": 4.2e12, "matmul_flops_per_s": {"bfloat16": 7.8e14}}


class Folder:
    """A folder laid out as `kernels/` is, with a key that its records are signed by."""

    def __init__(self, place: Path) -> None:
        self.place = place
        (place / "keys").mkdir(parents=True)
        self.key: SigningKey = signatures.make_key(place / "signing-key")
        (place / "keys" / "made.pub").write_text(self.key.public.pem())

    def add_record(
        self, operator: str, ratio: float, *, preset: str = "h200", alone: float | None = None
    ) -> Path:
        """A record of the preset with that ratio end to end, and `alone` of the operator."""
        document = catalogue.benchmark_document(operator, preset)
        loads = [load["name"] for load in document["workloads"]]
        document["protocol"]["replicates"] = document["protocol"]["max_replicates"] = 2
        document["protocol"] |= {"rounds": 3, "aa_rounds": 0}
        document = json.loads(json.dumps(document))
        # Far from what the machine's limits allow, and a little different in each replicate.
        step_us = 20 * max(_floor_us(operator, document, load) for load in document["workloads"])
        replicates = [
            replicate_entry(
                *(workload_entry(name, [(step_us * ratio * luck, step_us)] * 3) for name in loads)
            )
            for luck in (0.999, 1.001)
        ]
        record = made_record(
            replicates,
            document=document,
            device=H200,
            ceilings=CEILINGS,
            seen=_alone(operator, document, alone, saved_us=step_us * (ratio - 1))
            if alone
            else None,
        )
        source = catalogue.candidates(operator)[catalogue.presets(operator)[preset].candidate]
        record["candidate"] = {
            "name": f"{operator}/{source.stem}",
            "filename": source.name,
            "source_digest": digest_of_bytes(source.read_bytes()),
            "source": source.read_text(),
        }
        resealed = consistency.seal({**record, "benchmark_digest": digest(document)})
        file = self._folder(operator) / f"{preset}.record.json"
        file.write_bytes(records.serialize(resealed, self.key))
        return file

    def add_survey(self, operator: str, times_us: Mapping[str, float | None]) -> Path:
        """A survey of the h200 preset; None is a Solution that is not available."""
        preset = catalogue.presets(operator)["h200"]
        known = catalogue.baselines(operator)
        draft = {
            "schema": surveys.SCHEMA_NAME,
            "operator": operator,
            "preset": "h200",
            "dtype": preset.dtype,
            "launch": preset.launch,
            "sources": catalogue.source_digests(operator),
            "workloads": [
                {
                    "name": load.name,
                    "axes": dict(load.axes),
                    "weight": load.weight,
                    "operator_calls": 1,
                    "flops": catalogue.flops(operator, load.axes),
                    "bytes": catalogue.bytes_moved(operator, load.axes, preset.dtype),
                }
                for load in preset.workloads
            ],
            "solutions": [
                {
                    "name": name,
                    "role": "baseline" if name in known else "candidate",
                    "title": known[name].title if name in known else "",
                    "package": "torch",
                    "source_digest": None,
                    "results": [
                        _line(load.name, level, took_us)
                        for load in preset.workloads
                        for level in ("operator", "program")
                    ],
                }
                for name, took_us in times_us.items()
            ],
            "environment": {
                "device": {**H200, "cache_bytes": None},
                "ceilings": CEILINGS,
                "python": "3.12.1",
                "platform": "linux",
                "cpu": "a processor",
                "cores": 4,
                "torch": "2.11.0",
                "triton": "3.6.0",
                "cuda": "13.0",
                "driver": "580.1",
                "packages": {},
            },
            "command": f"python -m kernels measure {operator}",
            "started_at": "2026-11-21T12:00:00+00:00",
            "finished_at": "2026-11-21T12:01:00+00:00",
            "elapsed_s": 60.0,
        }
        file = self._folder(operator) / "h200.survey.json"
        file.write_bytes(surveys.serialize(draft, self.key))
        return file

    def _folder(self, operator: str) -> Path:
        folder = self.place / operator / "records"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


def _line(workload: str, level: str, took_us: float | None) -> dict[str, Any]:
    note = "not available: needs a library" if took_us is None else "max error 0"
    figures = dict.fromkeys(("median_us", "low_us", "high_us"), took_us)
    return {"workload": workload, "level": level, **figures, "note": note}


def _floor_us(operator: str, document: Mapping[str, Any], load: Mapping[str, Any]) -> float:
    moved = catalogue.bytes_moved(operator, load["axes"], document["dtype"])
    flops = catalogue.flops(operator, load["axes"])
    rate = CEILINGS["matmul_flops_per_s"][document["dtype"]]
    return 1e6 * max(moved / CEILINGS["copy_bytes_per_s"], flops / rate)


def _alone(
    operator: str, document: Mapping[str, Any], ratio: float, *, saved_us: float
) -> dict[str, Any]:
    """Observations in which the operator reaches 90% of its floor at every workload.

    The step calls it as often as saves `saved_us`.
    """
    pairs, costs = [], []
    for load in document["workloads"]:
        flops = catalogue.flops(operator, load["axes"])
        moved = catalogue.bytes_moved(operator, load["axes"], document["dtype"])
        took_us = _floor_us(operator, document, load) / 0.9
        rounds = [
            {"first": "baseline", "baseline_us": took_us * ratio, "candidate_us": took_us}
        ] * 3
        pairs.append({"name": load["name"], "calls": 1, "overhead_us": 0.0, "rounds": rounds})
        calls = math.ceil(saved_us / (took_us * (ratio - 1))) if ratio > 1 else 1
        costs.append(
            {"name": load["name"], "operator_calls": calls, "flops": flops, "bytes": moved}
        )
    return {"operator": pairs, "costs": costs}
