#!/usr/bin/env python3
"""Real collector, agent and command line with keys: who gets in, as whom, and what is said to those who do not.

Keys are made by openssl while the test runs. Usage: security_test.py; under Bazel, or by hand with the binaries in
bazel-bin
"""

import base64
import http.server
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import AlertReceiver, BINARIES, ROOT, Stack, metrics  # noqa: E402

PATIENCE_SECONDS = 30
NOT_ALLOWED, USAGE, UNREACHABLE = 6, 2, 4
BAD_CONFIG = 3
HASH_OF_PASSWORD = "$2a$05$bvIG6Nmid91Mu9RcmmWZfO5HJIMCT8riNW0hEp8f6/FuA2/mHZFpe"  # of "password", by bcrypt

RULES = """\
certificates:
  - {match: "spiffe://example.org/agent/{host}", role: agent}
  - {match: "cn:feed", role: agent, hosts: "*"}
  - {match: "cn:admin", role: admin}
  - {match: "cn:viewer", role: viewer}
"""


class Keys:
    """An authority, and what it signs."""

    def __init__(self, place):
        self.place = place
        self.ca = place / "ca.crt"
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                      "-subj", "/CN=fleet", "-keyout", place / "ca.key", "-out", self.ca)

    def issue(self, file, name, alternatives=""):
        """Paths of a new certificate and its key."""
        request, extensions = self.place / f"{file}.csr", self.place / f"{file}.ext"
        certificate, key = self.place / f"{file}.crt", self.place / f"{file}.key"
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                      "-keyout", f"{key}.new", "-out", request)
        extensions.write_text(f"subjectAltName={alternatives}\n" if alternatives else "\n")
        self._openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.place / "ca.key",
                      "-CAcreateserial", "-days", "1", "-extfile", extensions, "-out", f"{certificate}.new")
        os.rename(f"{key}.new", key)
        os.rename(f"{certificate}.new", certificate)
        return certificate, key

    @staticmethod
    def _openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Provider:
    """An OpenID Connect provider on loopback, over https. A test says which keys it has, and whether it answers."""

    def __init__(self, place, tls):
        self.place = place
        self.keys = {}  # names and paths of private keys
        self.status = 200
        self.token = None  # that it wants to be shown
        self.asked = []
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                provider.asked.append(self.path)
                body = json.dumps(provider.answer(self.path)).encode()
                is_shown = provider.token is None or self.headers["Authorization"] == f"Bearer {provider.token}"
                self.send_response(provider.status if is_shown else 401)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*tls)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.issuer = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path):
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks"}
        return {"keys": [self.published(name) for name in self.keys]}

    def make_key(self, name):
        path = self.place / f"{name}.pem"
        Keys._openssl("genrsa", "-out", path, "2048")
        self.keys[name] = path

    def published(self, name):
        text = subprocess.run(["openssl", "rsa", "-in", self.keys[name], "-noout", "-modulus"], check=True,
                              capture_output=True, text=True).stdout
        modulus = bytes.fromhex(text.strip().partition("=")[2])
        return {"kty": "RSA", "use": "sig", "kid": name, "n": self.encoded(modulus), "e": "AQAB"}

    def sign(self, name, **claims):
        """Signed by the key of that name."""
        whole = {"iss": self.issuer, "aud": "lockstep", "sub": "alice", "exp": time.time() + 600, **claims}
        text = ".".join(self.encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": name}, whole))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.keys[name]], check=True,
                                   input=text.encode(), capture_output=True).stdout
        return f"{text}.{self.encoded(signature)}\n"

    @staticmethod
    def encoded(data):
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    def close(self):
        self.server.shutdown()


class SecurityTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        self.keys = Keys(self.place)
        self.rules = self.place / "access.yaml"
        self.rules.write_text(RULES)
        self.stack = Stack(self.place / "state")
        self.addCleanup(self.stack.close)

    # What is started

    def start_collector(self, *flags):
        certificate, key = self.keys.issue("collector", "collector", "IP:127.0.0.1")
        self.start("collector", ["--listen-address=127.0.0.1:0", "--http-listen-address=127.0.0.1:0",
                                 f"--data-directory={self.place / 'history'}", f"--tls-certificate={certificate}",
                                 f"--tls-key={key}", f"--tls-client-ca={self.keys.ca}",
                                 f"--access-rules={self.rules}", *flags])
        self.address = f"127.0.0.1:{self.ports['grpc']}"

    def start_agent(self, host, certificate_host, *flags):
        certificate, key = self.keys.issue(f"agent-{certificate_host}", "agent",
                                           f"URI:spiffe://example.org/agent/{certificate_host}")
        collector_port = self.ports["http"]
        self.start("agent", [f"--collector-address={self.address}", "--listen-address=127.0.0.1:0",
                             f"--host-name={host}", f"--tls-ca={self.keys.ca}", f"--tls-certificate={certificate}", f"--tls-key={key}",
                             f"--ring-directory={self.place}", "--nvml-library=none", "--nccl-ras-address=", *flags])
        self.agent_port, self.ports["http"] = self.ports["http"], collector_port

    def start(self, daemon, flags):
        ports = self.place / f"{daemon}.json"
        ports.unlink(missing_ok=True)
        self.stack.start(daemon, [BINARIES / f"{daemon}/lockstep-{daemon}", f"--ports-file={ports}", *flags])
        text = self.stack.wait_until(f"ports of the {daemon}", lambda: ports.exists() and ports.read_text(),
                                     PATIENCE_SECONDS)
        self.ports = json.loads(text)

    def refuse(self, daemon, *flags):
        """What a daemon says that does not start."""
        done = subprocess.run([BINARIES / f"{daemon}/lockstep-{daemon}", f"--data-directory={self.place / 'history'}"]
                              [:2 if daemon == "collector" else 1] + list(flags),
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, BAD_CONFIG, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        return done.stderr

    # Who asks

    def ask(self, *arguments, flags=(), environment=None):
        """Exit code, stdout and stderr of the command line."""
        done = subprocess.run([BINARIES / "cli/lockstep", "--collector", self.address, *map(str, flags), *arguments],
                              capture_output=True, text=True, timeout=60, check=False,
                              env=dict(os.environ, **(environment or {})))
        return done.returncode, done.stdout, done.stderr

    def certificate_flags(self, name):
        certificate, key = self.keys.issue(name, name)
        return ["--tls-ca", self.keys.ca, "--tls-certificate", certificate, "--tls-key", key]

    def metric(self, series):
        return metrics(self.ports['http']).get(series)

    def log(self, daemon):
        return (self.stack.state / f"{daemon}.log").read_text()

    def hosts(self, flags):
        code, out, error = self.ask("-o", "json", "status", flags=flags)
        self.assertEqual(code, 0, error)
        return [a["host"] for a in json.loads(out)["agents"]]

    # The tests

    def test_an_agent_reports_for_its_own_host_only(self):
        self.start_collector()
        self.start_agent("node-1", "node-1")
        viewer = self.certificate_flags("viewer")
        self.stack.wait_until("node-1 to report", lambda: self.hosts(viewer) == ["node-1"], PATIENCE_SECONDS)
        self.stack.stop("agent")

        self.start_agent("node-2", "node-1")
        refused = lambda: self.metric('lockstep_collector_streams_rejected_total{reason="foreign_host"}')
        self.stack.wait_until("the agent to be refused", refused, PATIENCE_SECONDS)
        self.stack.wait_until("the agent to say so", lambda: "is not let in" in self.log("agent"), PATIENCE_SECONDS)
        self.stack.wait_until("a second attempt", lambda: refused() >= 2, PATIENCE_SECONDS)
        line, = [l for l in self.log("agent").splitlines() if "is not let in" in l]
        self.assertRegex(line, r"level=error .*host=node-2 why=.*may not report for the host node-2, but for node-1")
        self.assertEqual(self.hosts(viewer), ["node-1"])
        with self.assertRaises(urllib.error.HTTPError) as answer:
            urllib.request.urlopen(f"http://127.0.0.1:{self.agent_port}/readyz", timeout=5)
        self.assertIn("may not report for the host node-2", answer.exception.read().decode())

    def test_an_agent_takes_on_another_key_without_a_restart(self):
        self.start_collector()
        self.start_agent("node-2", "node-1")
        self.stack.wait_until("the agent to be refused", lambda: "is not let in" in self.log("agent"), PATIENCE_SECONDS)
        viewer = self.certificate_flags("viewer")
        self.assertEqual(self.hosts(viewer), [])
        self.keys.issue("agent-node-1", "agent", "URI:spiffe://example.org/agent/node-2")
        self.stack.wait_until("the agent to be let in", lambda: self.hosts(viewer) == ["node-2"], PATIENCE_SECONDS)

    def test_an_agent_reports_for_the_node_that_its_token_names(self):
        provider = Provider(self.place, self.keys.issue("provider", "provider", "IP:127.0.0.1"))
        self.addCleanup(provider.close)
        provider.make_key("first")
        provider.token = "of-the-collector"
        (self.place / "own").write_text(f"{provider.token}\n")
        rule = "{claim: sub, value: 'system:serviceaccount:lockstep:lockstep-agent', role: agent, host_claim: kubernetes.io.node.name}"
        self.rules.write_text(f"{RULES}oidc: [{{issuer: '{provider.issuer}', audience: lockstep, keys_url: '{provider.issuer}/jwks', "
                              f"keys_ca: {self.keys.ca}, keys_token: {self.place / 'own'}, rules: [{rule}]}}]\n")
        token = self.place / "token"

        def run_on(node, account="lockstep-agent"):
            claims = {"sub": f"system:serviceaccount:lockstep:{account}", "kubernetes.io": {"node": {"name": node}}}
            token.with_suffix(".new").write_text(provider.sign("first", **claims))
            token.with_suffix(".new").rename(token)

        run_on("node-1", account="default")
        self.start_collector()
        self.start_agent("node-2", "node-2", f"--token-file={token}")
        said = lambda why: self.stack.wait_until(why, lambda: why in self.log("agent"), PATIENCE_SECONDS)
        said("no rule gives a role to what the token claims")
        run_on("node-1")
        said("may not report for the host node-2, but for node-1")
        viewer = self.certificate_flags("viewer")
        self.assertEqual(self.hosts(viewer), [], "its certificate does not help")
        run_on("node-2")
        self.stack.wait_until("the agent to be let in", lambda: self.hosts(viewer) == ["node-2"], PATIENCE_SECONDS)
        self.assertEqual(set(provider.asked), {"/jwks"})

    def test_the_command_line_shows_its_keys_and_is_told_what_is_wrong_with_them(self):
        self.start_collector()
        viewer, stranger = self.certificate_flags("viewer"), self.certificate_flags("stranger")
        self.assertEqual(self.ask("status", flags=viewer)[0], 0)
        code, _, error = self.ask("status", flags=stranger)
        self.assertEqual((code, error.count("\n")), (NOT_ALLOWED, 1), error)
        self.assertIn("no rule fits the certificate of stranger", error)
        code, _, error = self.ask("hosts", "forget", "node-1", flags=viewer)
        self.assertEqual((code, error.count("\n")), (NOT_ALLOWED, 1), error)
        self.assertIn("certificate viewer has the role viewer; this needs the role admin", error)
        for flags in ((), ["--tls-ca", self.keys.ca]):  # in plain text, without a certificate
            code, _, error = self.ask("status", flags=flags)
            self.assertEqual((code, error.count("\n")), (UNREACHABLE, 1), error)
        code, _, error = self.ask("status", flags=[*viewer[:4], "--tls-key", stranger[5]])
        self.assertEqual(code, USAGE, error)
        self.assertIn("is not the key of", error)
        environment = {"LOCKSTEP_TLS_CA": str(viewer[1]), "LOCKSTEP_TLS_CERTIFICATE": str(viewer[3]),
                       "LOCKSTEP_TLS_KEY": str(viewer[5])}
        self.assertEqual(self.ask("status", environment=environment)[0], 0)
        for line in self.log("collector").splitlines():
            self.assertRegex(line, r"\Alevel=(info|warning) at=", "also of what gRPC says of handshakes")
        self.assertEqual(self.metric('lockstep_collector_calls_refused_total{reason="unknown"}'), 1)
        self.assertEqual(self.metric('lockstep_collector_calls_refused_total{reason="role"}'), 1)

    def test_people_and_scripts_have_tokens(self):
        def write(secret):
            token = f"grafana.{secret}"
            made = subprocess.run(["openssl", "passwd", "-5", token], check=True, capture_output=True, text=True)
            rule = f"{{name: grafana, role: viewer, hash: '{made.stdout.strip()}'}}"
            self.rules.write_text(f"{RULES}tokens: [{rule}]\n")
            file.write_text(token + "\n")

        file = self.place / "token"
        write("first")
        self.start_collector()
        ca = ["--tls-ca", self.keys.ca]
        code, _, error = self.ask("status", flags=ca)
        self.assertEqual(code, NOT_ALLOWED, error)
        self.assertIn("neither a certificate nor a token", error)
        flags = [*ca, "--token-file", file]
        self.assertEqual(self.ask("status", flags=flags)[0], 0)
        self.assertEqual(self.ask("status", flags=ca, environment={"LOCKSTEP_TOKEN_FILE": str(file)})[0], 0)
        code, _, error = self.ask("hosts", "forget", "node-1", flags=flags)
        self.assertEqual(code, NOT_ALLOWED, error)
        self.assertIn("token grafana has the role viewer", error)
        code, _, error = self.ask("status", flags=["--token-file", file])
        self.assertEqual(code, USAGE, error)
        self.assertIn("a token is sent over TLS only", error)
        old = file.read_text()
        write("second")
        self.stack.wait_until("the new token to count", lambda: self.ask("status", flags=flags)[0] == 0,
                              PATIENCE_SECONDS)
        file.write_text(old)
        self.assertEqual(self.ask("status", flags=flags)[0], NOT_ALLOWED)
        self.assertNotIn("first", self.log("collector"), "tokens are not logged")

    def test_connections_without_a_handshake_are_hung_up_on(self):
        self.start_collector()
        with socket.create_connection(("127.0.0.1", int(self.address.rpartition(":")[2]))) as silent:
            silent.settimeout(PATIENCE_SECONDS)
            self.assertEqual(silent.recv(1), b"")

    def test_renewed_keys_are_taken_on_while_agents_report(self):
        self.start_collector()
        self.start_agent("node-1", "node-1")
        viewer = self.certificate_flags("viewer")
        self.stack.wait_until("node-1 to report", lambda: self.hosts(viewer) == ["node-1"], PATIENCE_SECONDS)
        self.keys.issue("collector", "collector", "IP:127.0.0.1,DNS:renewed")
        renewed = [*viewer, "--tls-server-name", "renewed"]
        self.stack.wait_until("the new certificate", lambda: self.ask("status", flags=renewed)[0] == 0,
                              PATIENCE_SECONDS)
        self.assertIn("keys were read again", self.log("collector"))
        self.assertEqual(self.log("agent").count("disconnected"), 0)

    def test_recordings_are_played_by_who_may_report_for_any_host(self):
        token = self.place / "token"
        token.write_text("see.secret\n")
        made = subprocess.run(["openssl", "passwd", "-5", "see.secret"], check=True, capture_output=True, text=True)
        self.rules.write_text(f"{RULES}tokens: [{{name: see, role: viewer, hash: '{made.stdout.strip()}'}}]\n")
        self.start_collector()
        play = ["sim", "--feed", self.address, "--gpus", "8", "--steps", "2", "--speed", "100"]
        code, _, error = self.ask(*play, flags=self.certificate_flags("feed"))
        self.assertEqual(code, 0, error)
        self.assertRegex(error, r"\b([1-9]\d*) reports sent, \1 stored")
        code, _, error = self.ask(*play, flags=self.certificate_flags("admin"))
        self.assertRegex(error, r"reports sent, 0 stored")
        (self.place / "job").mkdir()
        self.assertEqual(self.ask("sim", str(self.place / "job"), "--gpus", "8", "--steps", "2")[0], 0)
        play = ["feed", str(self.place / "job/ops.csv"), "--to", self.address, "--job", "fed", "--speed", "100"]
        code, _, error = self.ask(*play, flags=self.certificate_flags("feed"))
        self.assertEqual(code, NOT_ALLOWED, error)  # whose hosts report now is for viewers to see
        code, _, error = self.ask(*play, flags=[*self.certificate_flags("feed"), "--token-file", token])
        self.assertEqual(code, 0, error)

    # Whom the collector asks and tells

    def test_people_log_in_at_a_provider_whose_keys_are_fetched(self):
        provider = Provider(self.place, self.keys.issue("provider", "provider", "IP:127.0.0.1"))
        self.addCleanup(provider.close)
        provider.make_key("first")
        provider.status = 503
        self.rules.write_text(f"{RULES}oidc: {{issuer: '{provider.issuer}', audience: lockstep, keys_ca: {self.keys.ca}, "
                              "rules: [{claim: groups, value: sre, role: operator}]}\n")
        file = self.place / "token"
        file.write_text(provider.sign("first", groups=["sre"]))
        flags = ["--tls-ca", self.keys.ca, "--token-file", file]
        self.start_collector()
        code, _, error = self.ask("status", flags=flags)
        self.assertEqual(code, NOT_ALLOWED, error)
        self.assertIn(f"the key set of {provider.issuer} is not known: ", error)
        self.assertEqual(self.ask("status", flags=self.certificate_flags("viewer"))[0], 0, "others come in")
        self.stack.wait_until("the log to say why", lambda: "status 503" in self.log("collector"), PATIENCE_SECONDS)
        failed = f'lockstep_collector_key_set_fetches_total{{issuer="{provider.issuer}",outcome="failed"}}'
        self.stack.wait_until("it to be counted", lambda: self.metric(failed) >= 1, PATIENCE_SECONDS)

        provider.status = 200
        let_in = lambda: self.ask("status", flags=flags)[0] == 0
        self.stack.wait_until("the keys to come", let_in, PATIENCE_SECONDS)
        self.assertEqual(set(provider.asked), {"/.well-known/openid-configuration", "/jwks"})
        file.write_text(provider.sign("first", groups=["guests"]))
        self.assertEqual(self.ask("status", flags=flags)[0], NOT_ALLOWED)

        # The provider changes its keys, and fails for a while: who holds a token of a known key does not notice.
        provider.status = 500
        provider.make_key("second")
        file.write_text(provider.sign("second", groups=["sre"]))
        code, _, error = self.ask("status", flags=flags)
        self.assertEqual(code, NOT_ALLOWED, error)
        self.assertIn("no key of the provider has signed it", error)
        self.stack.wait_until("it to be asked for the new key", lambda: "status 500" in self.log("collector"),
                              2 * PATIENCE_SECONDS, every=0.5)
        second = file.read_text()
        file.write_text(provider.sign("first", groups=["sre"]))
        self.assertEqual(self.ask("status", flags=flags)[0], 0)
        provider.status = 200
        file.write_text(second)
        self.stack.wait_until("the new key to count", let_in, PATIENCE_SECONDS, every=0.5)

    def test_a_provider_whom_nobody_vouches_for_gives_no_keys(self):
        provider = Provider(self.place, Keys(self.other_place()).issue("stranger", "provider", "IP:127.0.0.1"))
        self.addCleanup(provider.close)
        provider.make_key("first")
        self.rules.write_text(f"{RULES}oidc: {{issuer: '{provider.issuer}', audience: lockstep, keys_ca: {self.keys.ca}, "
                              "rules: [{claim: groups, value: sre, role: operator}]}\n")
        file = self.place / "token"
        file.write_text(provider.sign("first", groups=["sre"]))
        self.start_collector()
        self.stack.wait_until("the log to say why",
                              lambda: "the key set of the OpenID provider stays as it is" in self.log("collector"),
                              PATIENCE_SECONDS)
        self.assertRegex(self.log("collector"), r"stays as it is.*certificate")
        code, _, error = self.ask("status", flags=["--tls-ca", self.keys.ca, "--token-file", file])
        self.assertEqual(code, NOT_ALLOWED, error)
        self.assertEqual(provider.asked, [])

    def test_alerts_go_over_https_to_whom_an_authority_of_ones_own_vouches_for(self):
        known = AlertReceiver(self.keys.issue("receiver", "receiver", "IP:127.0.0.1"))
        stranger = AlertReceiver(Keys(self.other_place()).issue("stranger", "receiver", "IP:127.0.0.1"))
        self.addCleanup(known.close)
        self.addCleanup(stranger.close)
        self.start("collector", ["--listen-address=127.0.0.1:0", "--http-listen-address=127.0.0.1:0",
                                 f"--data-directory={self.place / 'history'}", f"--webhook-ca={self.keys.ca}",
                                 f"--webhook-url={known.url},{stranger.url}"])
        self.address = f"127.0.0.1:{self.ports['grpc']}"
        code, _, error = self.ask("sim", "--feed", self.address, "--speed", "4", "--gpus", "64", "--dimensions", "1",
                                  "--steps", "60", "--faults", "compute_slow:17@2*0.5")
        self.assertEqual(code, 0, error)
        self.stack.wait_until("an alert", lambda: known.received, PATIENCE_SECONDS)
        self.assertEqual(known.received[0][1]["status"], "firing")
        line = lambda: [l for l in self.log("collector").splitlines() if "an alert has to be sent again" in l]
        self.stack.wait_until("the log to tell of the other", line, PATIENCE_SECONDS)
        self.assertIn(stranger.url, line()[0])
        self.assertRegex(line()[0], r"level=warning .*certificate")
        self.assertEqual(stranger.received, [])
        self.assertGreaterEqual(self.metric("lockstep_collector_alerts_waiting"), 1)

    def test_who_acknowledged_and_who_was_refused_outlives_the_collector(self):
        self.rules.write_text(RULES + '  - {match: "cn:operator", role: operator}\n')
        self.start_collector()
        code, _, error = self.ask("ack", "7", "--note", "x", flags=self.certificate_flags("viewer"))
        self.assertEqual(code, NOT_ALLOWED, error)
        self.assertIn("this needs the role operator", error)
        operator, admin = self.certificate_flags("operator"), self.certificate_flags("admin")
        code, _, error = self.ask("ack", "7", flags=operator)
        self.assertEqual((code, error.count("\n")), (5, 1), error)
        self.assertIn("no incident 7", error)
        self.assertEqual(self.ask("audit", flags=operator)[0], NOT_ALLOWED)
        kept = lambda: [r["action"] for r in json.loads(self.ask("-o", "json", "audit", flags=admin)[1])["records"]]
        expected = ["refused_call", "acknowledge", "refused_call"]
        self.stack.wait_until("all of it to be kept", lambda: len(kept()) >= len(expected), PATIENCE_SECONDS)
        self.assertEqual(kept(), expected)
        self.assertEqual(self.log("collector").count('msg="audit" action=refused_call'), 2)
        self.stack.stop("collector", signal.SIGKILL)
        self.start_collector()
        self.assertEqual(kept(), expected)
        code, out, _ = self.ask("audit", "--since", "1h", flags=admin)
        self.assertRegex(out, r"acknowledge +incident 7 +certificate operator +ipv4:127\S+ +no incident 7")

    # The pages

    def get(self, path, cafile=None, credential=None, keys=None, port=None):
        """Status of a page, over TLS if an authority is given."""
        scheme, context = "http", None
        if cafile:
            scheme, context = "https", ssl.create_default_context(cafile=cafile)
            if keys:
                context.load_cert_chain(*keys)
        request = urllib.request.Request(f"{scheme}://127.0.0.1:{port or self.ports['http']}{path}")
        if credential:
            request.add_header("Authorization", "Basic " + base64.b64encode(credential.encode()).decode())
        try:
            with urllib.request.urlopen(request, timeout=5, context=context) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except (urllib.error.URLError, OSError):
            return None

    def guard(self, users, more=""):
        self.web.write_text(f"tls_server_config: {{cert_file: web.crt, key_file: web.key{more}}}\n"
                            f"basic_auth_users: {{{users}}}\n")

    def test_pages_ask_for_what_their_guard_says_and_probes_for_nothing(self):
        self.web = self.place / "web.yaml"
        self.keys.issue("web", "web", "IP:127.0.0.1")
        self.guard(f"prometheus: {HASH_OF_PASSWORD}")
        self.start("collector", ["--listen-address=127.0.0.1:0", "--http-listen-address=0.0.0.0:0",
                                 f"--web-config={self.web}", f"--data-directory={self.place / 'history'}"])
        grpc, collector_http = self.ports["grpc"], self.ports["http"]
        self.start("agent", [f"--collector-address=127.0.0.1:{grpc}", "--listen-address=0.0.0.0:0",
                             "--host-name=node-1", f"--web-config={self.web}", f"--ring-directory={self.place}", "--nvml-library=none",
                             "--nccl-ras-address="])
        ca = self.keys.ca
        for port in (collector_http, self.ports["http"]):
            self.assertEqual(self.get("/healthz", ca, port=port), 200)
            self.stack.wait_until("the daemon to be ready", lambda: self.get("/readyz", ca, port=port) == 200,
                                  PATIENCE_SECONDS)
            self.assertEqual(self.get("/metrics", ca, port=port), 401)
            self.assertEqual(self.get("/metrics", ca, "prometheus:wrong", port=port), 401)
            self.assertEqual(self.get("/metrics", ca, "prometheus:password", port=port), 200)
            self.assertIsNone(self.get("/healthz", port=port), "in plain text")

        # Passwords and keys that change; the daemons go on.
        self.guard(f"grafana: {HASH_OF_PASSWORD}")
        for port in (collector_http, self.ports["http"]):
            self.stack.wait_until("another name",
                                  lambda: self.get("/metrics", ca, "grafana:password", port=port) == 200,
                                  PATIENCE_SECONDS)
            self.assertEqual(self.get("/metrics", ca, "prometheus:password", port=port), 401)
        viewer, stranger = self.keys.issue("viewer", "viewer"), Keys(self.other_place()).issue("stranger", "stranger")
        self.guard("", f", client_ca_file: {ca}, client_auth_type: RequireAndVerifyClientCert")
        for port in (collector_http, self.ports["http"]):
            self.stack.wait_until("a certificate to be needed", lambda: self.get("/metrics", ca, port=port) == 403,
                                  PATIENCE_SECONDS)
            self.assertEqual(self.get("/metrics", ca, keys=viewer, port=port), 200)
            self.assertIn(self.get("/metrics", ca, keys=stranger, port=port), (403, None))
            self.assertEqual(self.get("/healthz", ca, port=port), 200)
        before = self.log("collector").count("the guard of the pages was read again")
        self.keys.issue("web", "web", "DNS:elsewhere")
        self.stack.wait_until("another certificate", lambda: self.get("/healthz", ca, port=collector_http) is None,
                              PATIENCE_SECONDS)
        self.assertGreater(self.log("collector").count("the guard of the pages was read again"), before)

    def test_pages_have_a_limit_and_probes_have_none(self):
        self.web = self.place / "web.yaml"
        self.web.write_text("rate_limit: {interval: 1h, burst: 2}\n")
        self.start("collector", ["--listen-address=127.0.0.1:0", "--http-listen-address=127.0.0.1:0",
                                 f"--web-config={self.web}", f"--data-directory={self.place / 'history'}"])
        self.assertEqual([self.get("/healthz") for _ in range(5)], [200] * 5)
        self.assertEqual([self.get("/metrics") for _ in range(3)], [200, 200, 429])
        self.assertEqual([self.get(page) for page in ("/healthz", "/readyz", "/metrics")], [200, 200, 429])

    def test_pages_take_a_usual_file_of_the_exporters_at_its_word(self):
        self.web = self.place / "web.yaml"
        certificate, key = (pathlib.Path(path).read_text().replace("\n", "\n    ")
                            for path in self.keys.issue("web", "web", "IP:127.0.0.1"))
        self.web.write_text(f"tls_server_config:\n  cert: |\n    {certificate}\n  key: |\n    {key}\n"
                            f"  client_ca_file: {self.keys.ca}\n"
                            "  client_auth_type: VerifyClientCertIfGiven\n"
                            "  client_allowed_sans: [prometheus.example.org, 'spiffe://example.org/prometheus']\n"
                            "  min_version: TLS13\n"
                            "  cipher_suites: [TLS_AES_256_GCM_SHA384]\n  curve_preferences: [CurveP256]\n"
                            "http_server_config:\n  headers: {X-Frame-Options: deny}\n")
        self.start("collector", ["--listen-address=127.0.0.1:0", "--http-listen-address=127.0.0.1:0",
                                 f"--web-config={self.web}", f"--data-directory={self.place / 'history'}"])
        context = ssl.create_default_context(cafile=self.keys.ca)
        with urllib.request.urlopen(f"https://127.0.0.1:{self.ports['http']}/metrics", context=context) as answer:
            self.assertEqual(answer.headers["X-Frame-Options"], "deny")
        with socket.create_connection(("127.0.0.1", self.ports["http"])) as plain, \
                context.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
            self.assertEqual(tls.cipher()[:2], ("TLS_AES_256_GCM_SHA384", "TLSv1.3"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.assertRaises(urllib.error.URLError):
            urllib.request.urlopen(f"https://127.0.0.1:{self.ports['http']}/healthz", context=context)
        for name, status in (("DNS:prometheus.example.org", 200), ("URI:spiffe://example.org/prometheus", 200),
                             ("DNS:grafana.example.org", 403), ("", 403)):
            self.assertEqual(self.get("/metrics", self.keys.ca, keys=self.keys.issue("scraper", "scraper", name)), status,
                             name)

    def other_place(self):
        place = self.place / "other"
        place.mkdir()
        return place

    def test_a_guard_without_tls_is_for_loopback(self):
        self.web = self.place / "web.yaml"
        self.web.write_text(f"basic_auth_users: {{prometheus: {HASH_OF_PASSWORD}}}\n")
        self.assertIn("has no tls_server_config",
                      self.refuse("collector", "--listen-address=127.0.0.1:0", "--http-listen-address=0.0.0.0:0",
                                  f"--web-config={self.web}"))
        self.assertIn("has no tls_server_config",
                      self.refuse("agent", "--listen-address=0.0.0.0:0", f"--web-config={self.web}"))
        self.start("collector", ["--listen-address=127.0.0.1:0", "--http-listen-address=127.0.0.1:0",
                                 f"--web-config={self.web}", f"--data-directory={self.place / 'history'}"])
        self.assertEqual(self.get("/metrics"), 401)
        self.assertEqual(self.get("/metrics", credential="prometheus:password"), 200)

    def test_what_cannot_be_used_is_refused_at_the_start(self):
        certificate, key = self.keys.issue("good", "good")
        other = self.keys.issue("other", "other")[1]
        self.assertIn("other machines reach 0.0.0.0:0 in plain text",
                      self.refuse("collector", "--listen-address=0.0.0.0:0"))
        self.assertIn("insecure_http_listen", self.refuse("collector", "--http-listen-address=:0"))
        self.assertIn("insecure_http_listen", self.refuse("agent", "--listen-address=0.0.0.0:0"))
        self.assertIn("needs access_rules",
                      self.refuse("collector", f"--tls-certificate={certificate}", f"--tls-key={key}"))
        self.assertIn("needs tls.certificate", self.refuse("collector", f"--access-rules={self.rules}"))
        tls = [f"--tls-certificate={certificate}", f"--tls-client-ca={self.keys.ca}", f"--access-rules={self.rules}",
               "--listen-address=127.0.0.1:0", "--http-listen-address=127.0.0.1:0"]
        self.assertIn("is not the key of", self.refuse("collector", f"--tls-key={other}", *tls))
        self.assertIn("No such file", self.refuse("collector", f"--tls-key={self.place / 'absent'}", *tls))
        self.rules.write_text("certificates: [{match: nobody, role: viewer}]\n")
        self.assertRegex(self.refuse("collector", f"--tls-key={key}", *tls), r"access\.yaml: line 1: match .*nobody")
        self.assertIn("needs tls.ca", self.refuse("agent", f"--tls-certificate={certificate}", f"--tls-key={key}"))
        self.assertIn("needs tls.ca", self.refuse("agent", "--token-file=/etc/token"))
        self.assertIn("is not the key of",
                      self.refuse("agent", f"--tls-certificate={certificate}", f"--tls-key={other}",
                                  f"--tls-ca={self.keys.ca}", "--listen-address="))

    def test_examples_that_are_shipped_are_accepted(self):
        for example in ("access.yaml", "web.yaml"):
            (self.place / example).write_text((ROOT / "deploy/access" / example).read_text())
        self.keys.issue("tls", "web", "IP:127.0.0.1")
        self.start_collector(f"--web-config={self.place / 'web.yaml'}")
        code, _, error = self.ask("status", flags=self.certificate_flags("dashboard"))
        self.assertEqual(code, 0, error)
        self.rules.write_text((ROOT / "deploy/kubernetes/base/access.yaml").read_text())
        certificate, key = self.keys.issue("admin", "admin", "URI:spiffe://lockstep.svc/admin")
        admin = ["--tls-ca", self.keys.ca, "--tls-certificate", certificate, "--tls-key", key]
        self.stack.wait_until("the other rules", lambda: self.ask("status", flags=admin)[0] == 0, PATIENCE_SECONDS)

    def test_plain_text_on_other_addresses_is_wanted_by_name(self):
        self.start("collector", ["--listen-address=0.0.0.0:0", "--http-listen-address=0.0.0.0:0", "--insecure-listen",
                                 "--insecure-http-listen", f"--data-directory={self.place / 'history'}"])
        self.address = f"127.0.0.1:{self.ports['grpc']}"
        self.assertEqual(self.ask("status")[0], 0)


if __name__ == "__main__":
    unittest.main()
