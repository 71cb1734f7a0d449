#!/usr/bin/env python3
"""`./dev package`: Debian packages and the recorders' tarball from what Bazel built. Prints what it has made.

debian/ is deploy/debian with units and settings from deploy/ beside it; debhelper does the rest.
"""

import argparse
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = ("agent/lockstep-agent", "collector/lockstep-collector", "cli/lockstep")
RECORDERS = ("libnccl-profiler-lockstep.so", "liblockstep-mpi.so", "liblockstep-preload.so")
FOLDERS = ("access", "config", "grafana", "hooks", "node", "prometheus", "slurm")
DAEMONS = ("lockstep-agent", "lockstep-collector")


def version():
    """Of this release, as its packages have it."""
    return re.match(r"lockstep \(([^)]+)\)", (ROOT / "deploy/debian/changelog").read_text()).group(1)


def lay_out(stage, binaries):
    """Fills `stage` with what debhelper takes: built/, docs/ and debian/."""
    built, debian = stage / "built", stage / "debian"
    (built / "recorder").mkdir(parents=True)
    for program in PROGRAMS:
        shutil.copy(binaries / program, built)
    for recorder in RECORDERS:
        shutil.copy(binaries / "agent/recorder" / recorder, built / "recorder")
    for folder in FOLDERS:
        shutil.copytree(ROOT / "deploy" / folder, built / folder)
    shutil.copy(ROOT / "deploy/recorder/install-recorder", built)
    shutil.copytree(ROOT / "docs", stage / "docs")
    shutil.copytree(ROOT / "deploy/debian", debian)
    systemd = ROOT / "deploy/systemd"
    for daemon in DAEMONS:
        shutil.copy(systemd / f"{daemon}.service", debian)
        shutil.copy(systemd / "sysusers.d/lockstep.conf", debian / f"{daemon}.sysusers")
    shutil.copy(systemd / "tmpfiles.d/lockstep.conf", debian / "lockstep-agent.tmpfiles")
    shutil.copy(systemd / "drop-ins/process-ends.conf", built)
    shutil.copy(ROOT / "deploy/node/lockstep.default", debian)
    # Files that Bazel made are read-only and executable.
    programs = {"rules", "node-check", "install-recorder", *(pathlib.Path(p).name for p in PROGRAMS)}
    for path in filter(pathlib.Path.is_file, stage.rglob("*")):
        path.chmod(0o755 if path.name in programs or path.parent.name == "slurm" else 0o644)


def pack_recorders(stage, out):
    """The libraries as they are in the package, without symbols, for images that have no dpkg."""
    name = f"lockstep-recorder-{version()}-{platform.machine()}"
    folder = stage / name
    folder.mkdir()
    for recorder in RECORDERS:
        shutil.copy(stage / "debian/lockstep-recorder/usr/lib/lockstep" / recorder, folder)
    shutil.copy(ROOT / "LICENSE", folder)
    shutil.copy(ROOT / "docs/nccl.md", folder / "README.md")
    tarball = out / f"{name}.tar.xz"
    date = subprocess.run(["dpkg-parsechangelog", "-S", "Timestamp"], cwd=stage, check=True, capture_output=True,
                          text=True).stdout.strip()
    subprocess.run(["tar", "-C", stage, "--sort=name", "--owner=root:0", "--group=root:0", "--mode=u=rwX,go=rX",
                    f"--mtime=@{date}", "-cJf", tarball, name], check=True)
    return tarball


def make_packages(binaries, out):
    """Makes all packages in `out`, in place of those that are there, and returns their paths."""
    out.mkdir(parents=True, exist_ok=True)
    for old in filter(pathlib.Path.is_file, out.glob("lockstep*")):
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        stage = pathlib.Path(scratch) / "lockstep"
        lay_out(stage, binaries)
        with open(pathlib.Path(scratch) / "log", "w+", encoding="utf-8") as log:
            if subprocess.run(["dpkg-buildpackage", "-b", "-us", "-uc"], cwd=stage, stdout=log, stderr=log,
                              check=False).returncode:
                log.seek(0)
                sys.exit(f"{log.read()}\npackage: dpkg-buildpackage failed")
        made = [pack_recorders(stage, out)]
        for pattern in ("*.deb", "*.changes", "*.buildinfo"):
            for path in pathlib.Path(scratch).glob(pattern):
                made.append(pathlib.Path(shutil.copy(path, out)))
    return sorted(made)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "packages", help="where they go (default: packages)")
    parser.add_argument("--binaries", type=pathlib.Path, default=ROOT / "bazel-bin", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for path in make_packages(arguments.binaries.resolve(), arguments.out):
        print(path)


if __name__ == "__main__":
    main()
