#!/usr/bin/env python3
"""Prints the path of a kubectl that renders our manifests, which needs kustomize 5: the one on the path, or Debian 13's.

Debian 12's is of 2021 (kustomize 2, no components), so the program is taken out of the package of Debian 13, by apt with
lists of its own; nothing is installed. Kept in the user's cache.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SUITE = "trixie"
KEPT = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "lockstep" / f"kubectl-{SUITE}"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"


def renders(kubectl):
    done = subprocess.run([kubectl, "version", "--client"], capture_output=True, text=True, check=False)
    found = re.search(r"Kustomize Version: v(\d+)", done.stdout)
    return bool(found) and int(found.group(1)) >= 5


def mirror():
    """Where this machine has its Debian packages from."""
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages",
                             "Component: main", "Origin: Debian"], capture_output=True, text=True, check=True).stdout.split()
    return next(uri for uri in listed if "security" not in uri)


def fetch(folder):
    """Downloads Debian 13's kubectl and unpacks it into `folder`."""
    sources = folder / "sources"
    sources.write_text(f"deb [signed-by={KEYS}] {mirror()} {SUITE} main\n")
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "cache/archives/partial").mkdir(parents=True)
    apt = ["apt-get", "-qq", "-o", f"Dir::State::lists={folder}/lists", "-o", "Dir::State::status=/dev/null", "-o",
           f"Dir::Cache={folder}/cache", "-o", f"Dir::Etc::sourcelist={sources}", "-o", "Dir::Etc::sourceparts=/dev/null",
           "-o", "APT::Sandbox::User="]
    for command in ("update", "download kubectl"):
        subprocess.run(apt + command.split(), cwd=folder, check=True, stdout=sys.stderr)
    package, = folder.glob("kubectl_*.deb")
    subprocess.run(["dpkg-deb", "-x", package, folder / "root"], check=True)
    return folder / "root/usr/bin/kubectl"


def find():
    on_path = shutil.which("kubectl")
    if on_path and renders(on_path):
        return on_path
    if not KEPT.exists():
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT.parent) as scratch:
            fetch(pathlib.Path(scratch)).rename(KEPT)
    return str(KEPT)


if __name__ == "__main__":
    print(find())
