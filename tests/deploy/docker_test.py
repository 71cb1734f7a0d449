#!/usr/bin/python3
"""The Dockerfiles, as far as they can be checked without a container engine: base images, user, entry point, and that
the packages of the final stage provide every shared library that the binary needs."""

import pathlib
import re
import subprocess
import sys
import unittest

from places import BINARIES, ROOT

BASE_IMAGE = "debian:bookworm-slim"
# What every Debian system has: essential packages and the runtime of the compiler.
ALWAYS_THERE = {"libc6", "libgcc-s1", "libstdc++6"}
# What a final stage needs besides libraries: who may sign for webhooks that speak https.
FILES = {"agent": set(), "collector": {"ca-certificates"}}


def stages(name):
    """Stages of a Dockerfile, each a list of (instruction, arguments)."""
    text = (ROOT / "deploy/docker" / f"Dockerfile.{name}").read_text()
    text = re.sub(r"^#.*\n", "", text, flags=re.M).replace("\\\n", " ")
    result = []
    for line in filter(None, (line.strip() for line in text.splitlines())):
        instruction, _, arguments = line.partition(" ")
        if instruction == "FROM":
            result.append([])
        result[-1].append((instruction, arguments.strip()))
    return result


def installed_packages(stage):
    packages = set()
    for instruction, arguments in stage:
        if instruction == "RUN":
            for found in re.findall(r"apt-get install -y --no-install-recommends ([^&]*)", arguments):
                packages |= set(found.split())
            for found in re.findall(r"apt-get purge -y --auto-remove ([^&]*)", arguments):
                packages -= set(found.split())
    return packages


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def dependencies_of_all():
    """Package -> names of all that it depends on, for every installed package; one question, because dpkg is slow."""
    lines = output("dpkg-query", "-W", "-f=${Package}\t${Depends}, ${Pre-Depends}\n").splitlines()
    found = {}
    for line in lines:
        package, _, depends = line.partition("\t")
        names = {re.split(r"[ :(]", alternative.strip())[0] for alternative in re.split(r"[,|]", depends)}
        found.setdefault(package, set()).update(names - {""})
    return found


def with_dependencies(packages):
    """`packages` and all that dpkg says they depend on."""
    depends, closed, remaining = dependencies_of_all(), set(), set(packages)
    while remaining:
        package = remaining.pop()
        closed.add(package)
        remaining |= depends.get(package, set()) - closed
    return closed


def needed_packages(binaries):
    """Packages that own the shared libraries that `binaries` name themselves; what those need is dpkg's business."""
    paths = set()
    for binary in binaries:
        direct = set(re.findall(r"\(NEEDED\)\s+Shared library: \[(\S+)\]", output("readelf", "-d", binary)))
        found = dict(re.findall(r"(\S+) => (/\S+)", output("ldd", binary)))
        missing = direct - set(found)
        assert not {m for m in missing if not m.startswith("ld-linux")}, f"{binary} does not find {missing}"
        paths |= {found[name] for name in direct & set(found)}
    # dpkg knows a file by the name it was installed under: with or without /usr, which are one directory.
    spellings = {spelling for path in paths for spelling in (path, "/usr" + path, path.removeprefix("/usr"))}
    done = subprocess.run(["dpkg-query", "-S", *sorted(spellings)], capture_output=True, text=True, check=False)
    owners = {path.removeprefix("/usr"): owner.split(":")[0]
              for owner, path in re.findall(r"^(\S+): (/\S+)$", done.stdout, re.M)}
    orphans = {path for path in paths if path.removeprefix("/usr") not in owners}
    assert not orphans, f"no package owns {orphans}"
    return {owners[path.removeprefix("/usr")] for path in paths}


class DockerTest(unittest.TestCase):
    IMAGES = {"agent": ["agent/lockstep-agent"],
              "collector": ["collector/lockstep-collector", "cli/lockstep"]}

    def test_base_images(self):
        for name in self.IMAGES:
            froms = [arguments for stage in stages(name) for instruction, arguments in stage if instruction == "FROM"]
            self.assertEqual(froms, [f"{BASE_IMAGE} AS build", BASE_IMAGE], name)

    def test_final_stage_has_user_and_entry_point(self):
        for name, user in (("agent", "47072:47072"), ("collector", "65532:65532")):
            final = stages(name)[-1]
            self.assertEqual([a for i, a in final if i == "USER"], [user])
            self.assertEqual([a for i, a in final if i == "ENTRYPOINT"], [f'["/usr/bin/lockstep-{name}"]'])
            instructions = [i for i, _ in final]
            self.assertLess(instructions.index("USER"), instructions.index("ENTRYPOINT"))

    def test_the_agent_is_not_root_and_has_the_capabilities_of_its_file(self):
        runs = " ".join(a for i, a in stages("agent")[-1] if i == "RUN")
        # Without "e": the kernel would refuse to run it where the container has one of them less.
        self.assertEqual(re.findall(r"setcap (\S+) (\S+)", runs),
                         [("cap_sys_ptrace,cap_dac_read_search,cap_syslog=p", "/usr/bin/lockstep-agent")])
        self.assertIn("find / -xdev -type f -perm /6000 -exec chmod a-s {} +", runs)
        self.assertLess(runs.index("setcap"), runs.index("-perm /6000"))

    def test_what_is_copied_was_built(self):
        for name in self.IMAGES:
            build, final = stages(name)
            text = " ".join(a for i, a in build if i == "RUN")
            for binary in self.IMAGES[name]:
                self.assertIn(f"bazel-bin/{binary}", text)
                self.assertIn("//" + binary.replace("/", ":", 1), text)
            self.assertTrue(any(i == "COPY" and a.startswith("--from=build /out/") for i, a in final))

    def test_package_lists_are_not_kept(self):
        for name in self.IMAGES:
            for stage in stages(name):
                for instruction, arguments in stage:
                    if instruction == "RUN" and "apt-get update" in arguments:
                        self.assertIn("rm -rf /var/lib/apt/lists/*", arguments)

    def test_final_stage_has_every_library(self):
        for name, binaries in self.IMAGES.items():
            packages = installed_packages(stages(name)[-1])
            available = with_dependencies(packages) | ALWAYS_THERE
            needed = needed_packages([BINARIES / binary for binary in binaries])
            self.assertEqual(needed - available, set(), f"packages missing in Dockerfile.{name}")
            self.assertEqual(packages - needed, FILES[name], f"packages beside the libraries in Dockerfile.{name}")

    def test_jobs_get_the_recorder(self):
        self.assertIn(("COPY", "--from=build /out/lib/ /usr/lib/lockstep/"), stages("agent")[-1])


if __name__ == "__main__":
    sys.exit(unittest.main())
