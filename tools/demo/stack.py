"""A collector, an agent and a recorded job on this machine, as child processes that never outlive their parent."""

import ctypes
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Under Bazel those of the test, else those that were built last.
BINARIES = pathlib.Path(os.environ["TEST_SRCDIR"]) / "lockstep" if "TEST_SRCDIR" in os.environ else ROOT / "bazel-bin"
RANKS = 4


class StackError(Exception):
    """Something did not start or died; the message says what and where its log is."""


def _die_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
    os.setpgrp()


class AlertReceiver:
    """A webhook receiver on loopback: keeps every payload, with the time it came. `keys`: paths of its certificate and
    key, for https."""

    def __init__(self, keys=None):
        self.received = []
        self._refuses = False
        self._answers = threading.Event()
        self._answers.set()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                takes = receiver._answers.is_set() and not receiver._refuses
                receiver._answers.wait()
                if takes:
                    receiver.received.append((time.monotonic(), json.loads(body)))
                self.send_response(200 if takes else 503)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if keys:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*keys)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if keys else 'http'}://127.0.0.1:{self._server.server_address[1]}/alerts"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def refuse(self, refuses):
        """From now on: answers 503 and keeps nothing, or takes everything again."""
        self._refuses = refuses

    def hang(self, hangs):
        """From now on: keeps nothing, and says so only when it hangs no more."""
        if hangs:
            self._answers.clear()
        else:
            self._answers.set()

    def close(self):
        self.hang(False)
        self._server.shutdown()


def metrics(port):
    """What the daemon on PORT of the loopback shows: values by series."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = [line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {series: float(value) for series, value in lines}


def free_port():
    """A port of the loopback on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Stack:
    """Starts and stops the pieces. `binaries` is the folder with cli/, agent/, collector/ and tests/ built."""

    def __init__(self, state_directory, binaries=BINARIES, grpc_port=0, http_port=0, agent_port=0):
        self.state = pathlib.Path(state_directory)
        self.binaries = pathlib.Path(binaries)
        self.grpc_port, self.http_port, self.agent_port = grpc_port, http_port, agent_port
        self.state.mkdir(parents=True, exist_ok=True)
        # Rings belong into memory: a ring on a disk would be written back to it for ever.
        self.rings = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-", dir="/dev/shm"))
        self.slow_file = self.rings / "slow"
        self.alerts = AlertReceiver()
        self.job = f"demo-{os.getpid()}"
        self._children = {}

    # Starting

    def start(self, name, command, stdin=subprocess.DEVNULL, **environment):
        with open(self.state / f"{name}.log", "ab") as log:
            child = subprocess.Popen([str(c) for c in command], stdout=log, stderr=subprocess.STDOUT, stdin=stdin,
                                     env=dict(os.environ, **environment), preexec_fn=_die_with_parent)
        self._children[name] = child
        return child

    def start_collector(self, binary=None, flags=()):
        ports_file = self.state / "ports.json"
        ports_file.unlink(missing_ok=True)
        self.start("collector", [
            binary or self.binaries / "collector/lockstep-collector", f"--data-directory={self.state / 'history'}",
            f"--listen-address=127.0.0.1:{self.grpc_port}", f"--http-listen-address=127.0.0.1:{self.http_port}",
            f"--ports-file={ports_file}", f"--webhook-url={self.alerts.url}",
            f"--backup-directory={self.state / 'backups'}", *flags])
        self.wait_until("the collector to listen", ports_file.exists, 20)
        ports = self.wait_until("the collector's ports", lambda: self._read_json(ports_file), 5)
        self.grpc_port, self.http_port = ports["grpc"], ports["http"]

    def start_agent(self, *arguments):
        self.start("agent", [
            self.binaries / "agent/lockstep-agent", f"--collector-address=127.0.0.1:{self.grpc_port}",
            f"--ring-directory={self.rings}", f"--listen-address=127.0.0.1:{self.agent_port}",
            *arguments])

    def start_job(self, *arguments, recorded=True):
        """The demo training loop: RANKS processes under mpirun; only the environment says that it is recorded."""
        exported = ["-x", f"LOCKSTEP_RING_DIR={self.rings}", "-x", f"LOCKSTEP_JOB_ID={self.job}"]
        if recorded:
            exported += ["-x", f"LD_PRELOAD={self.binaries / 'agent/recorder/liblockstep-mpi.so'}"]
        return self.start("job", [
            "mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl",
            "self,vader", "-n", str(RANKS), *exported, self.binaries / "tests/demo/train",
            "--seconds", "86400", "--slow-file", self.slow_file, *arguments])

    # Breaking and healing

    def slow_down(self, rank, factor):
        self._write_slow_file(f"{rank} {factor}\n")

    def heal(self):
        self._write_slow_file("")

    def _write_slow_file(self, text):
        # Renamed into place: a rank must never read half a line.
        temporary = self.slow_file.with_suffix(".new")
        temporary.write_text(text)
        temporary.rename(self.slow_file)

    # Asking

    @property
    def address(self):
        return f"127.0.0.1:{self.grpc_port}"

    def text(self, *arguments):
        """Runs the command line and returns what it prints."""
        command = [str(c) for c in (self.binaries / "cli/lockstep", "--collector", self.address, *arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        if done.returncode != 0:
            raise StackError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def lockstep(self, *arguments):
        """Runs the command line and returns its JSON."""
        return json.loads(self.text("-o", "json", *arguments))

    def ranks(self):
        return {r.get("rank", 0): r for r in self.lockstep("ranks", self.job).get("ranks", [])}

    def incidents(self):
        """Of this job, and of hosts by themselves: the history may hold those of earlier runs."""
        return [i for i in self.lockstep("incidents", "list").get("incidents", []) if i.get("job", "") in ("", self.job)]

    def wait_until(self, what, condition, seconds, every=0.1):
        """Polls until `condition` is truthy and returns that; complains after `seconds` or when a piece has died."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.check_alive()
            value = condition()
            if value:
                return value
            time.sleep(every)
        raise StackError(f"waited {seconds:.0f} s for {what} in vain; logs are in {self.state}")

    def expect_end(self, name):
        """From now on it may end by itself; returns its Popen."""
        return self._children.pop(name)

    def pid(self, name):
        return self._children[name].pid

    def status(self, name, field):
        """The words that the kernel has for a field of the process, of those in /proc/PID/status."""
        for line in pathlib.Path(f"/proc/{self.pid(name)}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return line.split()[1:]
        raise StackError(f"the status of {name} has no {field}")

    def memory(self, name, field="VmRSS"):
        """Bytes that are resident; `VmHWM`: that ever were."""
        return int(self.status(name, field)[0]) << 10

    def check_alive(self):
        for name, child in self._children.items():
            if child.poll() is not None:
                tail = (self.state / f"{name}.log").read_text(errors="replace").splitlines()[-5:]
                raise StackError(f"{name} ended with status {child.returncode}:\n  " + "\n  ".join(tail))

    @staticmethod
    def _read_json(path):
        try:
            return json.loads(path.read_text())
        except ValueError:
            return None

    # Stopping

    def stop(self, name, with_signal=signal.SIGTERM, patience_seconds=15):
        child = self._children.pop(name, None)
        if child is None or child.poll() is not None:
            return child.returncode if child else None
        os.killpg(child.pid, signal.SIGCONT)
        os.killpg(child.pid, with_signal)
        try:
            return child.wait(patience_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return child.wait()

    def close(self):
        for name in ("job", "agent", "collector"):
            self.stop(name)
        self.alerts.close()
        shutil.rmtree(self.rings, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
