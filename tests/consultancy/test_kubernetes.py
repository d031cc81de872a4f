"""The Kubernetes manifests agree with the settings, with compose and with one another."""

from __future__ import annotations

from typing import Any

import yaml
from django.conf import settings

from benchmarks.models import BenchmarkCheck, Run

FOLDER = settings.BASE_DIR / "deploy" / "kubernetes"
PARTS = {"web", "worker", "beat", "gpu-worker", "migrate"}


def manifests() -> list[dict[str, Any]]:
    files = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    return [found for name in files for found in yaml.safe_load_all((FOLDER / name).read_text())]


def pods() -> dict[str, dict[str, Any]]:
    return {
        found["metadata"]["name"]: found["spec"]["template"]
        for found in manifests()
        if found["kind"] in ("Deployment", "Job")
    }


def named(kind: str) -> dict[str, dict[str, Any]]:
    return {row["metadata"]["name"]: row["spec"] for row in manifests() if row["kind"] == kind}


def test_every_file_is_a_resource() -> None:
    files = set(yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"])
    assert files | {"kustomization.yaml"} == {file.name for file in FOLDER.glob("*.yaml")}


def test_only_the_gpu_worker_has_privileges_and_each_secret_has_one_holder() -> None:
    found = pods()
    assert set(found) == PARTS | {"broker"}
    privileged: set[str] = set()
    holders: dict[str, set[str]] = {}
    for name, pod in found.items():
        [container] = pod["spec"]["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
        if "add" in container["securityContext"]["capabilities"]:
            privileged.add(name)
        for volume in pod["spec"].get("volumes", []):
            if "secret" in volume:
                holders.setdefault(volume["secret"]["secretName"], set()).add(name)
    assert privileged == {"gpu-worker"}
    assert holders == {
        "certificate": {"worker"},
        "signing-key": {"gpu-worker"},
        "owner": {"migrate"},
    }


def test_every_variable_is_one_that_compose_sets_too() -> None:
    lines = (FOLDER / "settings.env").read_text().splitlines()
    names = {line.split("=", 1)[0] for line in lines if line}
    compose = (settings.BASE_DIR / "docker-compose.yml").read_text()
    assert {name for name in names if f"{name}:" not in compose} == set()


def test_policies_select_pods_that_exist_and_close_everything_else() -> None:
    labels = {pod["metadata"]["labels"]["part"] for pod in pods().values()}
    policies = named("NetworkPolicy")
    assert policies["nothing"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for policy in policies.values():
        selector = policy["podSelector"]
        chosen = {selector.get("matchLabels", {}).get("part", "web")}
        for expression in selector.get("matchExpressions", []):
            chosen = set(expression["values"])
        assert chosen <= labels
    for budget in named("PodDisruptionBudget").values():
        assert budget["selector"]["matchLabels"]["part"] in labels


def test_gpu_workers_stay_while_a_job_is_queued_or_measured() -> None:
    scaled = named("ScaledObject")
    assert {row["scaleTargetRef"]["name"] for row in scaled.values()} <= PARTS
    query = scaled["gpu-worker"]["triggers"][0]["metadata"]["query"]
    assert {Run._meta.db_table, BenchmarkCheck._meta.db_table} <= set(query.split())
