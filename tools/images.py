#!/usr/bin/env python3
"""`./dev package --images`: OCI images of agent and collector from the packages, without a container engine.

mmdebstrap makes a Debian system with the packages in it, and umoci an image of that. Needs what mmdebstrap needs: root, or
user namespaces.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import package

ROOT = package.ROOT
# In an image nobody is called by name; the number is that of the manifests in deploy/kubernetes.
IMAGES = {
    "lockstep-agent": {
        "packages": ("lockstep-agent", "lockstep-recorder"),
        "debian": (),
        "user": "47072:47072",
        "port": "7072/tcp",
        # Without "e": the kernel would refuse to run it where the container has one of them less.
        "hooks": ('setcap cap_sys_ptrace,cap_dac_read_search,cap_syslog=p "$1/usr/bin/lockstep-agent"',),
    },
    "lockstep-collector": {
        "packages": ("lockstep-collector", "lockstep"),
        "debian": ("ca-certificates",),  # who may sign for receivers of alerts that speak https
        "user": "65532:65532",
        "port": "7070/tcp",
        "hooks": (),
    },
}
# A user is made by sysusers.d; an image needs no systemd for that.
STAND_INS = {"systemd": "systemd-standalone-sysusers"}


def needed(packages):
    """Names of Debian's packages that ours need, the first of alternatives."""
    names = set()
    for path in packages:
        depends = subprocess.run(["dpkg-deb", "-f", path, "Depends"], check=True, capture_output=True, text=True).stdout
        names |= {re.split(r"[ (|:]", clause.strip())[0] for clause in depends.split(",")}
    return {STAND_INS.get(name, name) for name in names}


def make_root(image, packages, tarball):
    """A system with `packages` and nothing that could give a process more rights than it has."""
    hooks = [f'copy-in {" ".join(map(str, packages))} /',
             'chroot "$1" sh -c "dpkg --install /*.deb && rm -f /*.deb"',
             'find "$1" -xdev -type f -perm /6000 -exec chmod a-s {} +', *image["hooks"]]
    names = sorted(needed(packages) | set(image["debian"]))
    subprocess.run(["mmdebstrap", "--variant=essential", "--quiet", "--dpkgopt=force-unsafe-io",
                    f"--include={','.join(names)}", *(f"--customize-hook={hook}" for hook in hooks), "bookworm", tarball],
                   check=True, stdout=sys.stderr)


def make_image(name, packages_folder, out):
    """Adds NAME:VERSION to the OCI layout `out`/NAME and returns `out`/NAME:VERSION."""
    image = IMAGES[name]
    packages = [next(packages_folder.glob(f"{package_name}_*.deb")).resolve() for package_name in image["packages"]]
    layout = out / name
    reference = f"{layout}:{package.version()}"
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        tarball = pathlib.Path(scratch) / "root.tar"
        make_root(image, packages, tarball)
        if not layout.exists():
            subprocess.run(["umoci", "init", "--layout", layout], check=True)
        subprocess.run(["umoci", "new", "--image", reference], check=True)
        subprocess.run(["umoci", "raw", "add-layer", "--image", reference, tarball], check=True)
    subprocess.run(["umoci", "config", "--image", reference, "--config.user", image["user"], "--config.entrypoint",
                    f"/usr/bin/{name}", "--config.exposedports", image["port"]], check=True)
    subprocess.run(["umoci", "gc", "--layout", layout], check=True)
    return reference


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=pathlib.Path, default=ROOT / "packages", help="where the packages are")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "packages/images", help="where the images go")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in IMAGES:
        print(make_image(name, arguments.packages, arguments.out))


if __name__ == "__main__":
    main()
