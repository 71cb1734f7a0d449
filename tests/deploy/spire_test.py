#!/usr/bin/python3
"""The overlay for SPIRE: each agent's certificate names its node, and the collector's rules believe it of that alone."""

import pathlib
import re
import sys
import unittest

import yaml

from places import ROOT
from rendered import rendered

OVERLAY = ROOT / "deploy/kubernetes/overlays/spire"
BASE = ROOT / "deploy/kubernetes/base"


# Workloads, and what adds keys to their pods.
WORKLOADS = {"lockstep-agent": ("agent-daemonset.yaml", "agent-svid.yaml", "agent.yaml"),
             "lockstep-collector": ("collector-statefulset.yaml", "collector-svid.yaml", "collector.yaml")}


def load(path):
    objects = list(yaml.safe_load_all(path.read_text()))
    return objects[0] if len(objects) == 1 else objects


class SpireTest(unittest.TestCase):
    def base(self, name):
        return load(BASE / WORKLOADS[name][0])["spec"]["template"]

    def patch(self, name):
        return load(OVERLAY / WORKLOADS[name][1])["spec"]["template"]["spec"]

    def settings(self, name):
        own = OVERLAY / WORKLOADS[name][2]
        return load(own if own.exists() else BASE / WORKLOADS[name][2])

    def daemon(self, name):
        return next(c for c in self.base(name)["spec"]["containers"] if f"lockstep-{c['name']}" == name)

    def ids(self):
        return {o["metadata"]["name"]: o["spec"] for o in load(OVERLAY / "spiffe-ids.yaml")}

    def test_an_agent_is_believed_of_the_node_that_its_certificate_names(self):
        agent, = (rule for rule in load(OVERLAY / "access.yaml")["certificates"] if rule["role"] == "agent")
        self.assertNotIn("hosts", agent, "it would speak for all")
        issued = self.ids()["lockstep-agent"]["spiffeIDTemplate"]
        self.assertEqual(issued.replace("{{ .TrustDomain }}", "example.org").replace("{{ .PodSpec.NodeName }}", "{host}"),
                         agent["match"])
        host = next(e for e in self.daemon("lockstep-agent")["env"] if e["name"] == "LOCKSTEP_AGENT_HOST_NAME")
        self.assertEqual(host["valueFrom"]["fieldRef"]["fieldPath"], "spec.nodeName", "as the certificate says")

    def test_certificates_are_for_these_pods_alone(self):
        for name in WORKLOADS:
            spec = self.ids()[name]
            self.assertEqual(spec["namespaceSelector"]["matchLabels"], {"kubernetes.io/metadata.name": "lockstep"})
            self.assertEqual(spec["podSelector"]["matchLabels"], {"app.kubernetes.io/name": name})
            self.assertEqual(self.base(name)["metadata"]["labels"]["app.kubernetes.io/name"], name)
        address = self.settings("lockstep-agent")["collector"]["address"]
        self.assertIn(address.rpartition(":")[0], self.ids()["lockstep-collector"]["dnsNameTemplates"])

    def test_the_helper_writes_what_the_daemons_read_and_nobody_else_can(self):
        helper = dict(re.findall(r'^(\w+) = "?([^"\n]+)"?$', (OVERLAY / "helper.conf").read_text(), re.MULTILINE))
        written = {helper[name] for name in ("svid_file_name", "svid_key_file_name", "svid_bundle_file_name")}
        self.assertEqual(helper["key_file_mode"], "0600")
        for name in WORKLOADS:
            paths = [pathlib.Path(path) for path in self.settings(name)["tls"].values()]
            self.assertEqual({path.parent.as_posix() for path in paths}, {helper["cert_dir"]})
            self.assertEqual({path.name for path in paths}, written)
            user = {**self.base(name)["spec"]["securityContext"], **self.daemon(name)["securityContext"]}["runAsUser"]
            patch = self.patch(name)
            helpers = [c for c in patch["initContainers"] + patch["containers"] if c.get("image") == "spiffe-helper"]
            self.assertEqual([c["args"][2:] for c in helpers], [["-daemon-mode=false"], []])
            for container in helpers:
                context = container["securityContext"]
                self.assertEqual(context["runAsUser"], user, "or the key could not be read")
                self.assertEqual((context["runAsNonRoot"], context["readOnlyRootFilesystem"],
                                  context["allowPrivilegeEscalation"], context["capabilities"],
                                  context["seccompProfile"]["type"]), (True, True, False, {"drop": ["ALL"]},
                                                                       "RuntimeDefault"))
                mounts = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
                self.assertIn(pathlib.Path(helper["agent_address"]).parent.as_posix(), mounts)
                self.assertEqual(mounts[helper["cert_dir"]], "tls")
                self.assertEqual(set(mounts.values()), {v["name"] for v in patch["volumes"] if "$patch" not in v})
            volume = next(v for v in patch["volumes"] if v["name"] == "tls")
            self.assertIsNone(volume["secret"], "that of the base goes")
            self.assertEqual(volume["emptyDir"]["medium"], "Memory")

    def test_every_file_is_used(self):
        kustomization = load(OVERLAY / "kustomization.yaml")
        used = {*kustomization["resources"], *(p["path"] for p in kustomization["patches"] if "path" in p),
                *(f for g in kustomization["configMapGenerator"] for f in g["files"]), "kustomization.yaml"}
        self.assertEqual(used - {"../../base"}, {p.name for p in OVERLAY.iterdir()})

    def test_a_certificate_says_who_an_agent_is_and_no_token(self):
        self.assertEqual(set(self.settings("lockstep-agent")) ^ set(load(BASE / "agent.yaml")), {"token_file"})
        self.assertEqual(set(self.settings("lockstep-agent")["tls"]), {"ca", "certificate", "key"})
        self.assertNotIn("oidc", load(OVERLAY / "access.yaml"))
        pods = [o["spec"]["template"]["spec"] for o in rendered(OVERLAY) if o["kind"] in ("DaemonSet", "StatefulSet")]
        self.assertEqual([v for pod in pods for v in pod["volumes"] if "projected" in v], [])

    def test_pages_are_for_whom_a_certificate_names(self):
        guard = load(OVERLAY / "web.yaml")["tls_server_config"]
        trust_domains = {san.split("/")[2] for san in guard["client_allowed_sans"]}
        self.assertEqual(trust_domains, {"example.org"})
        self.assertEqual({**guard, "client_allowed_sans": 0},
                         {**load(BASE / "web.yaml")["tls_server_config"], "client_allowed_sans": 0})
        for name in WORKLOADS:
            self.assertIn(f"{name}.lockstep.svc", self.ids()[name]["dnsNameTemplates"])
            self.assertNotIn("insecure_http_listen", self.settings(name))

    def test_nothing_of_cert_manager_is_left(self):
        objects = rendered(OVERLAY)
        self.assertEqual([o for o in objects if o["kind"] in ("Issuer", "Certificate")], [])
        pods = [o["spec"]["template"]["spec"] for o in objects if o["kind"] in ("DaemonSet", "StatefulSet")]
        self.assertEqual([len(pod["containers"]) for pod in pods], [2, 2])
        self.assertEqual([v for pod in pods for v in pod["volumes"] if "secret" in v], [])


if __name__ == "__main__":
    sys.exit(unittest.main())
