"""A Debian system of its own, under its own systemd, for tests that install packages.

Made with mmdebstrap once and kept as an archive (`KEPT`); each test boots a fresh copy of it with systemd-nspawn. It has a
network of its own, with loopback and nothing else, and no registry: what is installed is what the test puts there. Needs
root, a mirror of Debian and the right to make namespaces: where these are missing, before anything of ours is in it, tests
are skipped and say why. Limits: BOOT_SECONDS to boot, and COMMAND_SECONDS for each command.
"""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest

SUITE = "bookworm"
BOOT_SECONDS = 120
COMMAND_SECONDS = 120
KEPT = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "lockstep/roots"


class RootError(Exception):
    """The system could not be made or did not do what it was told; the message says what it said."""


def dependencies(packages):
    """Names of what .deb files say they need, the first of alternatives, without each other and without versions."""
    own, needed = set(), set()
    for package in packages:
        fields = subprocess.run(["dpkg-deb", "-f", package, "Package", "Depends"], check=True, capture_output=True,
                                text=True).stdout
        own.add(re.search(r"^Package: (\S+)", fields, re.M).group(1))
        for clause in re.search(r"^Depends: (.*)", fields, re.M).group(1).split(","):
            needed.add(re.split(r"[ (|:]", clause.strip())[0])
    return needed - own


def machine(packages, binds=()):
    """A system that `packages` can be installed in, with what a job of the demo needs."""
    return DebianRoot(kept_archive(dependencies(packages) | {"systemd-sysv", "openmpi-bin", "procps"}), binds)


def kept_archive(packages, suite=SUITE, variant="apt"):
    """The archive of a system with `packages` and what they need; made if there is none yet."""
    wanted = ",".join(sorted(packages))
    name = hashlib.sha256(f"{suite} {variant} {wanted}".encode()).hexdigest()[:16]
    archive = KEPT / f"{suite}-{name}.tar"
    if not archive.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as scratch:
            made = pathlib.Path(scratch) / "root.tar"
            done = subprocess.run(["mmdebstrap", f"--variant={variant}", "--dpkgopt=force-unsafe-io", "--quiet",
                                   f"--include={wanted}", suite, made], capture_output=True, text=True, check=False)
            if done.returncode:
                raise unittest.SkipTest(f"no {suite} is to be had here: mmdebstrap: {done.stderr}")
            made.rename(archive)
    return archive


class DebianRoot:
    """`with machine(packages) as root:` is a booted system; `root.path` is where its files are."""

    def __init__(self, archive, binds=()):
        self._archive, self._binds = archive, binds
        self._scratch = self._nspawn = self._leader = None
        self.path = None

    def __enter__(self):
        self._scratch = tempfile.mkdtemp(prefix="lockstep-root-")
        self.path = pathlib.Path(self._scratch) / "root"
        self.path.mkdir()
        try:
            subprocess.run(["tar", "-xf", self._archive, "-C", self.path, "--numeric-owner", "--xattrs"], check=True)
            self._boot()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._nspawn and self._nspawn.poll() is None:
            self._nspawn.terminate()
            try:
                self._nspawn.wait(30)
            except subprocess.TimeoutExpired:
                self._nspawn.kill()
                self._nspawn.wait()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _boot(self):
        binds = [f"--bind-ro={source}:{target}" for source, target in self._binds]
        with open(pathlib.Path(self._scratch) / "console", "wb") as console:
            self._nspawn = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--boot",
                 "--capability=CAP_SYSLOG", *binds,
                 f"--machine=lockstep-{os.getpid()}", "-D", self.path],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        try:
            self.wait_until("the system to boot", self._is_running, BOOT_SECONDS)
        except RootError as error:
            raise unittest.SkipTest(f"no system can be booted here: {error}") from error
        # A machine has a kernel log, which systemd gives to the agent; nspawn keeps it away.
        self.run("mknod", "-m", "0600", "/dev/kmsg", "c", "1", "11")

    def _is_running(self):
        if self._nspawn.poll() is not None:
            raise RootError((pathlib.Path(self._scratch) / "console").read_text(errors="replace"))
        children = pathlib.Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text().split()
        for child in children:
            if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                self._leader = child
        if not self._leader:
            return False
        # Degraded means that a unit has failed, such as those that want hardware: the test asks for its own.
        return self.run("systemctl", "is-system-running", check=False).stdout.strip() in ("running", "degraded")

    def run(self, *command, check=True, environment=None, seconds=COMMAND_SECONDS):
        """Runs `command` inside; complains with its output if it fails, unless told not to."""
        settings = [f"{name}={value}" for name, value in (environment or {}).items()]
        done = subprocess.run(
            ["nsenter", "-t", self._leader, "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "env", "-i", "HOME=/root",
             "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", *settings,
             *map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False)
        if check and done.returncode:
            raise RootError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def put(self, source, target):
        """Copies a file of this machine to the folder `target` inside and returns its path there."""
        folder = self.path / target.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder)
        return f"{target}/{pathlib.Path(source).name}"

    @staticmethod
    def wait_until(what, condition, seconds, every=0.2):
        """Polls until `condition` is truthy and returns that."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if value := condition():
                return value
            time.sleep(every)
        raise RootError(f"waited {seconds:.0f} s for {what} in vain")
