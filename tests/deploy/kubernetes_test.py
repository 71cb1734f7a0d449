#!/usr/bin/python3
"""The Kubernetes manifests, as the real kubectl renders them, fit together."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

from places import ROOT
from rendered import rendered

KUBERNETES = ROOT / "deploy/kubernetes"
WORKLOADS = ("DaemonSet", "StatefulSet")
# Jobs of somebody: one that is to be recorded, with settings of its own, and one that is not.
JOBS = """
apiVersion: batch/v1
kind: Job
metadata: {name: gpt, labels: {lockstep.io/record: ""}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example.org/gpt:1
          env: [{name: NCCL_DEBUG, value: WARN}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: other}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: train, image: busybox}]
"""


def build(directory):
    """All objects of a kustomization, and its config maps by the name that they have in our files."""
    objects = rendered(directory)
    return objects, {without_hash(o["metadata"]["name"]): o["data"] for o in objects if o["kind"] == "ConfigMap"}


def without_hash(name):
    return re.sub(r"-[a-z0-9]{10}$", "", name)


def settings_in(maps, daemon):
    return maps[daemon][daemon.removeprefix("lockstep-") + ".yaml"]


def own_key(spec):
    """What the csi-driver is asked for; None where a secret holds the keys."""
    volume = next(v for v in spec["volumes"] if v["name"] == "tls")
    if "csi" not in volume:
        return None
    prefix = volume["csi"]["driver"] + "/"
    return {name.removeprefix(prefix): value for name, value in volume["csi"]["volumeAttributes"].items()}


def containers(workload):
    spec = workload["spec"]["template"]["spec"]
    return spec.get("initContainers", []) + spec["containers"]


class KubernetesTest(unittest.TestCase):
    def each(self):
        for directory in ("base", "overlays/unprivileged", "overlays/places", "overlays/own-keys"):
            yield build(KUBERNETES / directory)

    def find(self, objects, kind, name):
        found = [o for o in objects if o["kind"] == kind and o["metadata"]["name"] == name]
        self.assertEqual(len(found), 1, f"{kind} {name}")
        return found[0]

    def workloads(self, objects):
        found = [o for o in objects if o["kind"] in WORKLOADS]
        self.assertEqual(len(found), 2)
        return found

    def test_every_file_is_used(self):
        base = yaml.safe_load((KUBERNETES / "base/kustomization.yaml").read_text())
        used = set(base["resources"]) | {f for g in base["configMapGenerator"] for f in g["files"]}
        self.assertEqual(used | {"kustomization.yaml"}, {p.name for p in (KUBERNETES / "base").iterdir()})

    def test_objects_are_complete_and_unique(self):
        for objects, _ in self.each():
            names = [(o["kind"], o["metadata"]["name"]) for o in objects]
            self.assertEqual(len(names), len(set(names)))
            for o in objects:
                self.assertIn("apiVersion", o)

    def test_selectors_match_the_pods(self):
        for objects, _ in self.each():
            for workload in self.workloads(objects):
                labels = workload["spec"]["template"]["metadata"]["labels"]
                self.assertLessEqual(workload["spec"]["selector"]["matchLabels"].items(), labels.items())
            for service in (o for o in objects if o["kind"] == "Service"):
                selected = [w for w in self.workloads(objects)
                            if service["spec"]["selector"].items()
                            <= w["spec"]["template"]["metadata"]["labels"].items()]
                self.assertEqual(len(selected), 1)
                ports = {p["name"] for c in selected[0]["spec"]["template"]["spec"]["containers"] for p in c["ports"]}
                for port in service["spec"]["ports"]:
                    self.assertIn(port["targetPort"], ports)

    def test_stateful_set_has_its_service_and_a_volume_of_its_own(self):
        for objects, _ in self.each():
            collector = self.find(objects, "StatefulSet", "lockstep-collector")
            self.find(objects, "Service", collector["spec"]["serviceName"])
            self.assertEqual([v["metadata"]["name"] for v in collector["spec"]["volumeClaimTemplates"]], ["data"])

    def test_mounts_have_volumes_and_volumes_are_mounted(self):
        for objects, maps in self.each():
            for workload in self.workloads(objects):
                spec = workload["spec"]["template"]["spec"]
                volumes = {v["name"]: v for v in spec.get("volumes", [])}
                claims = {v["metadata"]["name"] for v in workload["spec"].get("volumeClaimTemplates", [])}
                mounted = {m["name"] for c in containers(workload) for m in c.get("volumeMounts", [])}
                self.assertEqual(mounted, set(volumes) | claims)
                for volume in volumes.values():
                    if "configMap" in volume:
                        self.find(objects, "ConfigMap", volume["configMap"]["name"])

    def test_configuration_files_are_where_the_arguments_say(self):
        for objects, maps in self.each():
            for workload in self.workloads(objects):
                container = workload["spec"]["template"]["spec"]["containers"][0]
                directory, _, name = container["args"][container["args"].index("--config") + 1].rpartition("/")
                mount = next(m for m in container["volumeMounts"] if m["mountPath"] == directory)
                volume = next(v for v in workload["spec"]["template"]["spec"]["volumes"] if v["name"] == mount["name"])
                if "emptyDir" in volume:  # an init container writes it
                    writers = [c for c in workload["spec"]["template"]["spec"]["initContainers"]
                               if f"> {directory}/{name}" in " ".join(c["command"])
                               and {"name": mount["name"], "mountPath": directory} in c["volumeMounts"]]
                    self.assertEqual(len(writers), 1)
                else:
                    self.assertIn(name, maps[without_hash(volume["configMap"]["name"])])

    def test_places_are_added_to_the_configuration_if_the_node_knows_them(self):
        objects, maps = build(KUBERNETES / "overlays/places")
        agent = self.find(objects, "DaemonSet", "lockstep-agent")["spec"]["template"]["spec"]
        init = next(c for c in agent["initContainers"] if c["name"] == "places")
        for places in ("", "places: {rack: r12, leaf: l3}\n"):
            with tempfile.TemporaryDirectory() as root:
                script = init["command"][2]
                for mount in init["volumeMounts"]:
                    (pathlib.Path(root) / mount["mountPath"].strip("/")).mkdir(parents=True)
                    script = script.replace(f"{mount['mountPath']}/", f"{root}{mount['mountPath']}/")
                (pathlib.Path(root) / "etc/lockstep/agent.yaml").write_text(maps["lockstep-agent"]["agent.yaml"])
                if places:
                    (pathlib.Path(root) / "host/places.yaml").write_text(places)
                subprocess.run([*init["command"][:2], script], check=True)
                written = yaml.safe_load((pathlib.Path(root) / "run/lockstep/agent.yaml").read_text())
            self.assertEqual(written.get("places"), yaml.safe_load(places)["places"] if places else None)
            self.assertIn("collector", written)

    def test_probes_ask_for_health_on_a_named_port(self):
        for objects, _ in self.each():
            for workload in self.workloads(objects):
                container = workload["spec"]["template"]["spec"]["containers"][0]
                ports = {p["name"] for p in container["ports"]}
                probes = {"livenessProbe": "/healthz", "startupProbe": "/healthz", "readinessProbe": "/readyz"}
                for probe, path in probes.items():
                    if probe == "startupProbe" and probe not in container:
                        continue
                    self.assertEqual(container[probe]["httpGet"]["path"], path)
                    self.assertIn(container[probe]["httpGet"]["port"], ports)
                    self.assertEqual(container[probe]["httpGet"]["scheme"], "HTTPS", "pages have TLS")
                self.assertEqual(workload["spec"]["template"]["metadata"]["annotations"]["prometheus.io/scheme"], "https")

    def test_ports_agree_with_the_configuration(self):
        for objects, maps in self.each():
            text = {name: settings_in(maps, name) for name in maps}
            for workload in self.workloads(objects):
                name = workload["metadata"]["name"]
                container = workload["spec"]["template"]["spec"]["containers"][0]
                for port in container["ports"]:
                    self.assertRegex(text[name], rf":{port['containerPort']}\b", f"{name} {port['name']}")
                scraped = workload["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"]
                self.assertIn(int(scraped), [p["containerPort"] for p in container["ports"] if p["name"] == "http"])

    def test_agents_find_the_collector(self):
        for objects, maps in self.each():
            address = re.search(r"(lockstep-collector[\w.-]*):(\d+)", maps["lockstep-agent"]["agent.yaml"])
            self.assertIsNotNone(address)
            service = self.find(objects, "Service", address.group(1).split(".")[0])
            self.assertIn(int(address.group(2)), [p["port"] for p in service["spec"]["ports"]])

    def test_agents_reach_a_collector_that_is_not_ready(self):
        for objects, _ in self.each():
            service = self.find(objects, "Service", "lockstep-collector")
            self.assertIs(service["spec"].get("publishNotReadyAddresses"), True)

    def test_service_accounts_and_priority_exist(self):
        for objects, _ in self.each():
            for workload in self.workloads(objects):
                spec = workload["spec"]["template"]["spec"]
                self.find(objects, "ServiceAccount", spec["serviceAccountName"])
                if "priorityClassName" in spec:
                    self.find(objects, "PriorityClass", spec["priorityClassName"])

    def test_agents_reach_gpu_nodes_gently(self):
        for objects, _ in self.each():
            agent = self.find(objects, "DaemonSet", "lockstep-agent")
            self.assertEqual(agent["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"], "5%")
            spec = agent["spec"]["template"]["spec"]
            self.assertTrue(spec["hostPID"])
            self.assertEqual(spec["nodeSelector"], {"nvidia.com/gpu.present": "true"})
            self.assertIn("nvidia.com/gpu", [t["key"] for t in spec["tolerations"]])
            self.assertIn("/dev/shm/lockstep", [v.get("hostPath", {}).get("path") for v in spec["volumes"]])

    def test_everything_is_limited_and_has_a_pinned_image(self):
        base = yaml.safe_load((KUBERNETES / "base/kustomization.yaml").read_text())
        pinned = {f"{i['name']}:{i['newTag']}" for i in base["images"]}
        for objects, _ in self.each():
            for workload in self.workloads(objects):
                for container in containers(workload):
                    self.assertIn(container["image"], pinned)
                    for kind in ("requests", "limits"):
                        self.assertEqual(set(container["resources"][kind]), {"cpu", "memory"})

    def test_everything_else_is_confined(self):
        for objects, _ in self.each():
            for workload in self.workloads(objects):
                for container in containers(workload):
                    context = container["securityContext"]
                    self.assertIs(context["readOnlyRootFilesystem"], True, container["name"])
                    if context.get("privileged"):
                        continue
                    # The capabilities of a file are for whom a container lets have them.
                    of_a_file = container["name"] == "agent"
                    self.assertIs(context["allowPrivilegeEscalation"], of_a_file, container["name"])
                    self.assertEqual(context["capabilities"]["drop"], ["ALL"], container["name"])

    def test_every_container_has_the_seccomp_profile_of_the_runtime(self):
        overlays = sorted(p.name for p in (KUBERNETES / "overlays").iterdir())
        for directory in ("base", *(f"overlays/{name}" for name in overlays)):
            for workload in self.workloads(build(KUBERNETES / directory)[0]):
                pod = workload["spec"]["template"]["spec"].get("securityContext", {})
                for container in containers(workload):
                    context = {**pod, **container["securityContext"]}
                    self.assertEqual(context.get("seccompProfile"), {"type": "RuntimeDefault"},
                                     f"{directory}: {container['name']}")

    def test_nobody_who_stays_is_root(self):
        user, = re.findall(r"^USER (\d+):", (ROOT / "deploy/docker/Dockerfile.agent").read_text(), re.M)
        for objects, _ in self.each():
            for workload in self.workloads(objects):
                pod = workload["spec"]["template"]["spec"]
                for container in pod["containers"]:
                    context = {**pod.get("securityContext", {}), **container["securityContext"]}
                    self.assertIs(context["runAsNonRoot"], True, container["name"])
                    self.assertGreater(context["runAsUser"], 0)
            agent = self.find(objects, "DaemonSet", "lockstep-agent")["spec"]["template"]["spec"]
            self.assertEqual(str(agent["containers"][0]["securityContext"]["runAsUser"]), user)
            self.assertEqual(str(agent["securityContext"]["fsGroup"]), user)

    def test_added_capabilities_are_those_of_the_file(self):
        of_file = re.search(r"setcap (\S+)=p ", (ROOT / "deploy/docker/Dockerfile.agent").read_text()).group(1)
        objects, _ = build(KUBERNETES / "overlays/unprivileged")
        agent = self.find(objects, "DaemonSet", "lockstep-agent")["spec"]["template"]["spec"]["containers"][0]
        added = {f"cap_{c.lower()}" for c in agent["securityContext"]["capabilities"]["add"]}
        self.assertEqual(added | {"cap_syslog"}, set(of_file.split(",")))
        unit = (ROOT / "deploy/systemd/lockstep-agent.service").read_text()
        self.assertEqual(added, set(re.search(r"^AmbientCapabilities=(.*)", unit, re.M).group(1).lower().split()))

    @unittest.skipUnless(os.geteuid() == 0, "needs root, as the init container is")
    def test_the_agent_owns_its_directories(self):
        objects, _ = build(KUBERNETES / "base")
        agent = self.find(objects, "DaemonSet", "lockstep-agent")["spec"]["template"]["spec"]
        init = next(c for c in agent["initContainers"] if c["name"] == "directories")
        user = agent["containers"][0]["securityContext"]["runAsUser"]
        capabilities = ",".join(f"+{c.lower()}" for c in init["securityContext"]["capabilities"]["add"])
        mounts = [m["mountPath"] for m in init["volumeMounts"]]
        with tempfile.TemporaryDirectory() as root:
            script = init["command"][2]
            for mount in mounts:
                (pathlib.Path(root) / mount.strip("/")).mkdir(parents=True)
                script = re.sub(rf"(?<=\s){mount}\b", root + mount, script)
            left = pathlib.Path(root) / "var/lib/lockstep-agent/spool"
            left.mkdir(mode=0o700)
            (left / "segment").write_text("of an agent that was root")
            # A job pod may have come first, and the kubelet made the directory for it.
            os.chown(root + "/dev/shm/lockstep", 0, 0)
            os.chmod(root + "/dev/shm/lockstep", 0o755)
            for _ in range(2):  # also where an agent has been before
                subprocess.run(["setpriv", f"--bounding-set=-all,{capabilities}", *init["command"][:2], script], check=True)
                modes = {mount: os.stat(root + mount) for mount in mounts}
                self.assertEqual({m.st_uid for m in modes.values()}, {user})
                self.assertEqual(oct(modes["/dev/shm/lockstep"].st_mode & 0o7777), "0o1777")
                self.assertEqual(oct(modes["/var/lib/lockstep-agent"].st_mode & 0o7777), "0o700")
                self.assertEqual(os.stat(left / "segment").st_uid, user)

    def test_collector_and_agents_have_keys_that_something_issues(self):
        for objects, maps in self.each():
            issued = {o["spec"]["secretName"]: o for o in objects if o["kind"] == "Certificate"}
            issuers = {o["metadata"]["name"] for o in objects if o["kind"] == "Issuer"}
            for certificate in issued.values():
                self.assertIn(certificate["spec"]["issuerRef"]["name"], issuers)
            for workload in self.workloads(objects):
                name = workload["metadata"]["name"]
                spec = workload["spec"]["template"]["spec"]
                if own := own_key(spec):
                    self.assertIn(own["issuer-name"], issuers)
                    self.assertEqual(own["fs-group"], str(spec["securityContext"]["fsGroup"]))
                    self.assertNotIn(f"{name}-tls", issued, "a key that all could use would be left")
                else:
                    secret = next(v["secret"]["secretName"] for v in spec["volumes"] if "secret" in v)
                    self.assertIn(secret, issued)
                mount = next(m for m in spec["containers"][0]["volumeMounts"] if m["name"] == "tls")
                settings = yaml.safe_load(settings_in(maps, name))
                for path in settings["tls"].values():  # of the agent: whom it believes
                    self.assertEqual(pathlib.Path(path).parent.as_posix(), mount["mountPath"])
                    self.assertIn(pathlib.Path(path).name, ("tls.crt", "tls.key", "ca.crt"))
            address = yaml.safe_load(maps["lockstep-agent"]["agent.yaml"])["collector"]["address"]
            self.assertIn(address.rpartition(":")[0], issued["lockstep-collector-tls"]["spec"]["dnsNames"])

    def test_rules_let_in_the_certificates_that_are_issued(self):
        for objects, maps in self.each():
            self.assertIn("access.yaml", maps["lockstep-collector"])
            rules = yaml.safe_load(maps["lockstep-collector"]["access.yaml"])["certificates"]
            issued = [o["spec"] for o in objects if o["kind"] == "Certificate" and "client auth" in o["spec"].get("usages", [])]
            names = {uri for spec in issued for uri in spec["uris"]}
            self.assertLessEqual({r["match"] for r in rules}, names)
            self.assertEqual([r["match"] for r in rules if r["role"] == "agent"], [], "all agents have the same")
            self.assertEqual(set(self.guard(maps["lockstep-collector"])["client_allowed_sans"]), names)
            self.assertEqual(yaml.safe_load(maps["lockstep-collector"]["collector.yaml"])["access_rules"],
                             "/etc/lockstep/access.yaml")

    def guard(self, files):
        return yaml.safe_load(files["web.yaml"])["tls_server_config"]

    def test_an_agent_is_believed_of_the_node_that_its_token_names(self):
        for objects, maps in self.each():
            provider, = yaml.safe_load(maps["lockstep-collector"]["access.yaml"])["oidc"]
            rule, = provider["rules"]
            agent = self.find(objects, "DaemonSet", "lockstep-agent")
            spec = agent["spec"]["template"]["spec"]
            self.assertEqual((rule["claim"], rule["role"], rule["host_claim"]), ("sub", "agent", "kubernetes.io.node.name"))
            self.assertEqual(rule["value"], "system:serviceaccount:{}:{}".format(
                agent["metadata"]["namespace"], spec["serviceAccountName"]))
            host = next(e for e in spec["containers"][0]["env"] if e["name"] == "LOCKSTEP_AGENT_HOST_NAME")
            self.assertEqual(host["valueFrom"]["fieldRef"]["fieldPath"], "spec.nodeName", "as the token says")
            token = pathlib.Path(yaml.safe_load(maps["lockstep-agent"]["agent.yaml"])["token_file"])
            self.assertEqual(self.projected(spec, token.parent), [{"serviceAccountToken": {
                "audience": provider["audience"], "expirationSeconds": 3600, "path": token.name}}])

            # Keys are asked for at the API server, as a service account that may nothing else.
            self.assertEqual(provider["keys_url"], "https://kubernetes.default.svc/openid/v1/jwks")
            token, authorities = (pathlib.Path(provider[name]) for name in ("keys_token", "keys_ca"))
            self.assertEqual(token.parent, authorities.parent)
            collector = self.find(objects, "StatefulSet", "lockstep-collector")["spec"]["template"]["spec"]
            self.assertEqual(self.projected(collector, token.parent), [
                {"serviceAccountToken": {"expirationSeconds": 3600, "path": token.name}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": authorities.name}]}}])

    def projected(self, spec, folder):
        mount = next(m for m in spec["containers"][0]["volumeMounts"] if m["mountPath"] == str(folder))
        self.assertIs(mount["readOnly"], True)
        return next(v["projected"]["sources"] for v in spec["volumes"] if v["name"] == mount["name"])

    def test_pages_are_for_whom_a_certificate_names(self):
        for objects, maps in self.each():
            issued = {o["spec"]["secretName"]: o["spec"] for o in objects if o["kind"] == "Certificate"}
            for workload in self.workloads(objects):
                name = workload["metadata"]["name"]
                spec = workload["spec"]["template"]["spec"]
                settings = yaml.safe_load(settings_in(maps, name))
                self.assertFalse({"insecure_http_listen", "insecure_listen"} & set(settings), "keys are mounted")
                self.assertEqual(settings["web_config"], "/etc/lockstep/web.yaml")
                guard = self.guard(maps[name])
                self.assertEqual(guard["client_auth_type"], "RequireAndVerifyClientCert")
                mount = next(m for m in spec["containers"][0]["volumeMounts"] if m["name"] == "tls")
                self.assertEqual([guard[key] for key in ("cert_file", "key_file", "client_ca_file")],
                                 [f"{mount['mountPath']}/{file}" for file in ("tls.crt", "tls.key", "ca.crt")])
                own = own_key(spec) or {}
                self.assertIn("server auth", own.get("key-usages") or issued[f"{name}-tls"]["usages"])
                self.assertIn(f"{name}.lockstep.svc", own.get("dns-names") or issued[f"{name}-tls"]["dnsNames"])

    def test_the_collector_is_reached_as_its_policy_says(self):
        for objects, _ in self.each():
            policy = self.find(objects, "NetworkPolicy", "lockstep-collector")["spec"]
            pod = self.find(objects, "StatefulSet", "lockstep-collector")["spec"]["template"]
            self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), pod["metadata"]["labels"].items())
            ports = {p["name"] for p in pod["spec"]["containers"][0]["ports"]}
            self.assertEqual({p["port"] for rule in policy["ingress"] for p in rule["ports"]}, ports)
            for rule in policy["ingress"]:  # names of all jobs are for somebody
                self.assertTrue(rule["ports"] == [{"port": "grpc"}] or rule.get("from"))

    def test_only_what_must_be_is_privileged(self):
        (base, _), (unprivileged, _) = (build(KUBERNETES / d) for d in ("base", "overlays/unprivileged"))
        for objects, allowed in ((base, {"agent"}), (unprivileged, set())):
            privileged = {c["name"] for w in self.workloads(objects) for c in containers(w)
                          if c["securityContext"].get("privileged")}
            self.assertEqual(privileged, allowed)
        agent = self.find(unprivileged, "DaemonSet", "lockstep-agent")["spec"]["template"]["spec"]
        self.assertNotIn("/dev/kmsg", [m["mountPath"] for m in agent["containers"][0]["volumeMounts"]])
        self.assertIn({"name": "LOCKSTEP_AGENT_KERNEL_LOG", "value": "false"}, agent["containers"][0]["env"])
        self.assertTrue(self.find(base, "StatefulSet", "lockstep-collector")["spec"]["template"]["spec"]
                        ["securityContext"]["runAsNonRoot"])

    def test_nobody_may_ask_the_api_server_for_anything(self):
        for objects, _ in self.each():
            self.assertEqual([o["kind"] for o in objects if "Role" in o["kind"]], [])
            for workload in self.workloads(objects):
                self.assertIs(workload["spec"]["template"]["spec"]["automountServiceAccountToken"], False)

    def test_nobody_else_reaches_a_pod(self):
        for objects, _ in self.each():
            policy = self.find(objects, "NetworkPolicy", "lockstep-nobody-else")["spec"]
            self.assertEqual(policy, {"podSelector": {}, "policyTypes": ["Ingress"]})

    def test_the_collector_can_be_moved(self):
        for objects, _ in self.each():
            budget = self.find(objects, "PodDisruptionBudget", "lockstep-collector")["spec"]
            pod = self.find(objects, "StatefulSet", "lockstep-collector")["spec"]["template"]
            self.assertLessEqual(budget["selector"]["matchLabels"].items(), pod["metadata"]["labels"].items())
            self.assertEqual((budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]), (1, "AlwaysAllow"))

    def test_who_is_late_is_not_taken_for_dead(self):
        for objects, _ in self.each():
            for workload in self.workloads(objects):
                probe = workload["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]
                self.assertGreaterEqual(probe["timeoutSeconds"], 10)
                self.assertGreaterEqual(probe["periodSeconds"] * probe["failureThreshold"], 30)

    def test_recorders_lie_where_jobs_look_for_them(self):
        agent = self.find(build(KUBERNETES / "base")[0], "DaemonSet", "lockstep-agent")["spec"]["template"]["spec"]
        init = next(c for c in agent["initContainers"] if c["name"] == "recorder")
        program, target = init["command"]
        self.assertTrue((ROOT / "deploy/recorder" / pathlib.Path(program).name).exists())
        self.assertIn(f"COPY deploy/recorder/install-recorder {pathlib.Path(program).parent}/",
                      (ROOT / "deploy/docker/Dockerfile.agent").read_text())
        self.assertIn({"name": "recorder", "mountPath": target}, init["volumeMounts"])
        folders = {v["name"]: v["hostPath"]["path"] for v in agent["volumes"] if "hostPath" in v}
        self.assertEqual(folders["recorder"], target)
        _, job = self.recorded()
        paths = {v["name"]: v.get("hostPath") for v in job["volumes"]}
        # Neither folder has to be there for the job to begin.
        self.assertEqual(paths["lockstep-recorder"], {"path": target, "type": "DirectoryOrCreate"})
        self.assertEqual(paths["lockstep-rings"], {"path": folders["rings"], "type": "DirectoryOrCreate"})
        printed = (ROOT / "cli/commands/enable_nccl_command.cc").read_text()
        self.assertIn(f"lockstep-recorder, hostPath: {{path: {target}, type: DirectoryOrCreate}}", printed)

    def test_a_job_with_the_label_is_recorded_and_no_other(self):
        objects, job = self.recorded()
        container, = job["containers"]
        self.assertEqual(container["image"], "registry.example.org/gpt:1")
        self.assertEqual([e["name"] for e in container["env"]],
                         ["LOCKSTEP_POD_NAMESPACE", "LOCKSTEP_LEADERWORKERSET", "LOCKSTEP_LEADERWORKERSET_GROUP",
                          "LOCKSTEP_VOLCANO_JOB", "LOCKSTEP_RAY_CLUSTER", "LOCKSTEP_KUBERNETES_JOB", "NCCL_DEBUG"])
        printed = (ROOT / "cli/commands/enable_nccl_command.cc").read_text()
        for variable in container["env"]:
            path = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
            if path is not None:
                self.assertIn(path, printed)
        mounts = {m["name"]: m for m in container["volumeMounts"]}
        self.assertEqual(mounts["lockstep-nccl"]["mountPath"], "/etc/nccl.conf")
        name = next(v["configMap"]["name"] for v in job["volumes"] if v["name"] == "lockstep-nccl")
        conf = self.find(objects, "ConfigMap", name)["data"]["nccl.conf"]
        plugin = re.search(r"^NCCL_PROFILER_PLUGIN=(.*)$", conf, re.M).group(1)
        self.assertEqual(str(pathlib.Path(plugin).parent), mounts["lockstep-recorder"]["mountPath"])
        other = self.find(objects, "Job", "other")["spec"]["template"]["spec"]
        self.assertEqual(other, {"restartPolicy": "Never", "containers": [{"name": "train", "image": "busybox"}]})

    def recorded(self):
        """What the component makes of somebody's kustomization, and the pod of the job in it that is recorded."""
        with tempfile.TemporaryDirectory() as scratch:
            theirs = pathlib.Path(scratch) / "theirs"
            theirs.mkdir()
            shutil.copytree(KUBERNETES / "components/job", pathlib.Path(scratch) / "job")
            (theirs / "kustomization.yaml").write_text("resources: [jobs.yaml]\ncomponents: [../job]\n")
            (theirs / "jobs.yaml").write_text(JOBS)
            objects, _ = build(theirs)
        return objects, self.find(objects, "Job", "gpt")["spec"]["template"]["spec"]

    def base_with(self, component):
        """What somebody has who adds a component to the base."""
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copytree(KUBERNETES, pathlib.Path(scratch) / "kubernetes")
            theirs = pathlib.Path(scratch) / "theirs"
            theirs.mkdir()
            (theirs / "kustomization.yaml").write_text(
                f"namespace: lockstep\nresources: [../kubernetes/base]\ncomponents: [../kubernetes/components/{component}]\n")
            return build(theirs)

    def test_nvsentinel_is_reached_at_its_socket_by_whom_it_knows(self):
        objects, maps = self.base_with("nvsentinel")
        self.assertEqual(set(maps["lockstep-collector"]), {"collector.yaml", "access.yaml", "web.yaml", "alerts.yaml"})
        receiver, = yaml.safe_load(maps["lockstep-collector"]["alerts.yaml"])["receivers"]
        pod = self.find(objects, "StatefulSet", "lockstep-collector")["spec"]["template"]["spec"]
        container, = pod["containers"]
        volumes = {v["name"]: v for v in pod["volumes"]}
        at = {m["mountPath"]: volumes[m["name"]] for m in container["volumeMounts"] if m["name"] in volumes}
        self.assertIn({"name": "LOCKSTEP_COLLECTOR_ALERT_ROUTES", "value": "/etc/lockstep/alerts.yaml"}, container["env"])
        # As NVSentinel mounts its folder; the socket lies in it.
        socket = pathlib.Path(receiver["socket"])
        self.assertEqual(at[str(socket.parent)]["hostPath"], {"path": "/var/run/nvsentinel", "type": "DirectoryOrCreate"})
        token = pathlib.Path(receiver["token_file"])
        source, = at[str(token.parent)]["projected"]["sources"]
        self.assertEqual(source["serviceAccountToken"],
                         {"audience": "platform-connector.nvsentinel.nvidia.com", "expirationSeconds": 3600, "path": token.name})
        # The token of the API server is still nobody's, and root is without capabilities.
        self.assertIs(pod["automountServiceAccountToken"], False)
        self.assertEqual(container["securityContext"],
                         {"runAsUser": 0, "runAsGroup": 65532, "allowPrivilegeEscalation": False,
                          "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}})
        self.assertEqual(pod["securityContext"]["fsGroup"], 65532)
        written = (KUBERNETES / "components/nvsentinel/kustomization.yaml").read_text()
        namespace = self.find(objects, "StatefulSet", "lockstep-collector")["metadata"]["namespace"]
        self.assertIn(f"system:serviceaccount:{namespace}:{pod['serviceAccountName']}", written)

    def test_a_dcgm_exporter_is_asked_on_the_node_of_the_agent(self):
        objects, maps = self.base_with("dcgm-exporter")
        pod = self.find(objects, "DaemonSet", "lockstep-agent")["spec"]["template"]["spec"]
        container, = pod["containers"]
        plain = self.find(build(KUBERNETES / "base")[0], "DaemonSet", "lockstep-agent")["spec"]["template"]["spec"]
        added = [e for e in container["env"] if e not in plain["containers"][0]["env"]]
        self.assertEqual(added, [{"name": "LOCKSTEP_AGENT_DCGM_EXPORTER_URL", "value": "http://127.0.0.1:9400/metrics"}])
        self.assertEqual([e for e in container["env"] if e not in added], plain["containers"][0]["env"])
        # A setting that there is, and that the configuration does not make another of: 127.0.0.1 is the node's.
        self.assertIn("dcgm_exporter_url", yaml.safe_load((ROOT / "deploy/config/agent.yaml").read_text()))
        self.assertNotIn("dcgm_exporter_url", settings_in(maps, "lockstep-agent"))
        self.assertIs(pod["hostNetwork"], True)

    def test_the_list_for_a_dcgm_exporter_has_what_the_agent_takes_from_it(self):
        text = (KUBERNETES / "components/dcgm-exporter/counters.csv").read_text()
        rows = [line.split(", ", 2) for line in text.splitlines() if not line.startswith("#")]
        source = (ROOT / "agent/sources/dcgm/dcgm_source.cc").read_text()
        self.assertEqual([row[0] for row in rows], re.findall(r'^    \{"(DCGM_FI_\w+)", Metric::', source, re.M))
        self.assertEqual({(len(row), row[1]) for row in rows}, {(3, "gauge")})

    def test_the_prometheus_operator_finds_both(self):
        objects, _ = self.base_with("prometheus-operator")
        service = self.find(objects, "Service", "lockstep-collector")
        monitor = self.find(objects, "ServiceMonitor", "lockstep-collector")["spec"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
        self.assertIn(monitor["endpoints"][0]["port"], [p["name"] for p in service["spec"]["ports"]])
        self.assert_scraped(objects, monitor["endpoints"][0], "lockstep-collector")
        pod = self.find(objects, "DaemonSet", "lockstep-agent")["spec"]["template"]
        monitor = self.find(objects, "PodMonitor", "lockstep-agent")["spec"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), pod["metadata"]["labels"].items())
        self.assertIn(monitor["podMetricsEndpoints"][0]["port"], [p["name"] for p in pod["spec"]["containers"][0]["ports"]])
        self.assert_scraped(objects, monitor["podMetricsEndpoints"][0], "lockstep-agent")

    def assert_scraped(self, objects, endpoint, name):
        """By a key that Prometheus has, from whom it knows."""
        secret = self.find(objects, "Certificate", "lockstep-prometheus")["spec"]["secretName"]
        self.assertEqual((endpoint["scheme"], endpoint["tlsConfig"]), ("https", {
            "serverName": f"{name}.lockstep.svc", "ca": {"secret": {"name": secret, "key": "ca.crt"}},
            "cert": {"secret": {"name": secret, "key": "tls.crt"}}, "keySecret": {"name": secret, "key": "tls.key"}}))


if __name__ == "__main__":
    sys.exit(unittest.main())
