"""Checks the files beside it without a cluster: Kubernetes manifests against the schemas of `pip install kubernetes-validate pyyaml
jsonschema`, and compose.yaml against compose-spec.json, if that is given (from github.com/compose-spec/compose-spec, schema/)."""

import json
import pathlib
import sys

import jsonschema
import kubernetes_validate
import yaml

here = pathlib.Path(__file__).parent
count = 0
manifests = (here / "kubernetes").glob("*.yaml")
for path in sorted(one for one in manifests if one.name != "kustomization.yaml"):
    for resource in yaml.safe_load_all(path.read_text()):
        # Strict: a field that there is not is an error. PyYAML reads 0440 as the number that Kubernetes reads.
        kubernetes_validate.validate(resource, kubernetes_validate.latest_version(), strict=True)
        count += 1
print(f"{count} resources of Kubernetes {kubernetes_validate.latest_version()}")
compose = yaml.safe_load((here / "compose.yaml").read_text())
if len(sys.argv) > 1:
    jsonschema.validate(compose, json.loads(pathlib.Path(sys.argv[1]).read_text()))
addresses = [net["ipv4_address"] for one in compose["services"].values()
             for net in one["networks"].values() if "ipv4_address" in net]
assert len(addresses) == len(set(addresses)), "two services have one address"
print(f"{len(compose['services'])} services of compose.yaml{', by its schema' if len(sys.argv) > 1 else ''}")
