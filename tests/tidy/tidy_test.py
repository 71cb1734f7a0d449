#!/usr/bin/env python3
"""Runs the tidy rules over the tree, and proves on planted violations that they can fail."""

import graphlib
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import constants  # noqa: E402
import dependency_graph  # noqa: E402
import direct_includes  # noqa: E402
import metrics  # noqa: E402
import threats  # noqa: E402
import tidy  # noqa: E402


class Planted(unittest.TestCase):
    def plant(self, files):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        root = pathlib.Path(directory.name).resolve()
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        return root

    def test_clean_file_passes(self):
        root = self.plant({"base/a.h": "// Says it all. Immutable.\nclass A {\n};\n"})
        self.assertEqual(list(tidy.violations(root)), [])
        words = self.plant({"docs/a.md": "The surprisal of a healthy job.\n", "sim/b.cc": "// It heals.\n"})
        self.assertEqual(list(tidy.violations(words)), [])
        self.assertEqual(list(dependency_graph.violations(root)), [])

    def test_constants_say_where_they_come_from(self):
        def found(text):
            return len(list(constants.violations(self.plant({"detector/a.cc": text}))))
        self.assertEqual(found("constexpr double kA = 2;\n"), 1)
        self.assertEqual(found("// Two halves.\nconstexpr double kA = 2;\nconstexpr double kB = 3;\n"), 0)
        self.assertEqual(found("// Two halves.\nconstexpr double kA = 2;\n\nconstexpr double kB = 3;\n"), 1)
        self.assertEqual(found("constexpr double kB = 2 * kA;  // twice\nconstexpr int kC = kB;\n"), 0)
        self.assertEqual(found("// By judgement.\n" + "constexpr int kA = 1;\n" * 62), 1)

    def test_each_rule_can_fail(self):
        planted = {
            "detector/a.cc": "long long t = absl::Now();\n",
            "detector/b.cc": "std::random_device d;\n",
            "detector/c.cc": "std::mutex m;\n",
            "detector/d.cc": "void F() { throw 1; }\n",
            "detector/e.cc": "// TODO: later\n",
            "detector/f_test.cc": "void F() { usleep(1); }\n",
            "detector/g.h": "// Pure.\nclass A { friend class ATest; };\n",
            "detector/string_utils.cc": "int x;\n",
            "detector/h.h": "class A {\n};\n",
            "detector/l.h": "// How surprising a reading is. Pure.\nint x();\n",
            "docs/healing.md": "What healing gives back\n",
            "detector/i.cc": "int F() {\n" + "  ;\n" * 80 + "  return 1;\n}\n",
            "detector/j.h": "// Pure.\n" + "int x();\n" * 300,
            "proto/k.proto": "enum E { FIRST = 1; }\n",
            "agent/main.cc": "int x;\n" * 101,
        }
        found = "\n".join(tidy.violations(self.plant(planted)))
        for name in planted:
            self.assertIn(name, found)

    def test_a_type_is_defined_once(self):
        root = self.plant({
            "sim/a.h": "// Pure.\nnamespace lockstep {\nstruct Hang {\n  int rank;\n};\n}\n",
            "detector/b.cc": "namespace lockstep {\nstruct Hang {\n  double since;\n};\n}\n",
            "detector/c.cc": "namespace lockstep {\nnamespace {\nstruct Hang {\n  int own;\n};\n}\n}\n",
        })
        self.assertEqual(list(tidy.violations(root)), ["sim/a.h: lockstep::Hang is also defined in detector/b.cc"])

    def test_a_metric_that_no_source_reads_is_seen(self):
        catalogue = {
            "base/metric_catalog.h": "enum class Metric {\n  kUnspecified = 0,\n  kA = 1,\n  kB = 2,\n  kC = 3,\n};\n",
            "base/metric_catalog.cc": "{Metric::kA, \"a\"},\n{Metric::kB, \"b\"},\n",
            "agent/sources/x/x_test.cc": "Metric::kB\n",
            "agent/sources/x/x.cc": "Metric::kA  // and not Metric::kB\n",
        }
        self.assertEqual(list(metrics.violations(self.plant(catalogue))),
                         ["base/metric_catalog.cc: kC has no entry",
                          "base/metric_catalog.cc: no source below agent/sources reads kB"])

    def test_a_threat_without_a_test_is_seen(self):
        table = ("## What could go wrong\n\n| threat | answer | shown by |\n|---|---|---|\n"
                 "| a | b | `x:a_test` (Known..., Whole) |\n| below | b | `x:a_fuzzer` |\n")
        tree = {"x/BUILD.bazel": 'cc_test(\n    name = "a_test",\n    srcs = ["a.cc"],\n)\n\n'
                                 'lockstep_fuzzer(\n    name = "a_fuzzer",\n    src = "a.cc",\n)\n\n'
                                 'sh_test(\n    name = "by_hand_test",\n    srcs = ["a.cc"],\n    tags = ["manual"],\n)\n',
                "x/a.cc": "TEST(ATest, KnownToAll) {}\nTEST_F(ATest, Whole) {}\n"}
        self.assertEqual(list(threats.violations(self.plant({**tree, "docs/security.md": table}))), [])
        for row, complaint in (("| a | b | by thought |", "is shown by nothing"),
                               ("| a | | `x:a_test` |", "expected a threat, an answer"),
                               ("| a | b | `x:b_test` |", "x:b_test is no test"),
                               ("| a | b | `x:by_hand_test` |", "x:by_hand_test is no test"),
                               ("| a | b | `x/...` |", "x/... names a folder"),
                               ("| a | b | `x:...` |", "x:... names a folder"),
                               ("| a | b | `x:a_test` (Known) |", "x:a_test has no test Known"),
                               ("| a | b | `x:a_test` (Whole, Other...) |", "has no test Other...")):
            found = list(threats.violations(self.plant({**tree, "docs/security.md": f"{table}{row}\n"})))
            self.assertEqual(len(found), 1, row)
            self.assertIn(complaint, found[0])

    def test_forbidden_edges_are_seen(self):
        planted = {
            "detector/a.cc": '#include "proto/telemetry.pb.h"\n',
            "detector/b.cc": "#include <thread>\n",
            "detector/c.cc": '#include "collector/shard.h"\n',
            "agent/d.cc": '#include "collector/shard.h"\n',
            "collector/e.cc": '#include "agent/agent.h"\n',
            "agent/recorder/f.cc": '#include "base/clock.h"\n',
            "detector/stats/h.cc": '#include "detector/engine/job_engine.h"\n',
            "base/g.cc": '#include "detector/model/input.h"\n',
        }
        found = "\n".join(dependency_graph.violations(self.plant(planted)))
        for name in planted:
            self.assertIn(name, found)

    def test_the_two_simulators_share_no_code(self):
        planted = {
            "sim/second/a.cc": '#include "sim/episode.h"\n',
            "sim/second/b_test.cc": '#include "sim/testing/c.h"\n',
            "sim/capture/d.cc": '#include "sim/second/world.h"\n',
            "sim/e_test.cc": '#include "sim/second/world.h"\n',
            "sim/second/testing/f.h": '#include "sim/chance.h"\n',
        }
        allowed = {
            "sim/second/g.cc": '#include "sim/second/world.h"\n#include "formats/file_writer.h"\n',
            "sim/h.cc": '#include "sim/capture/capture_writer.h"\n',
            "eval/fleets/i.cc": '#include "sim/second/truth.h"\n#include "sim/episode.h"\n',
            "cli/j.cc": '#include "sim/second/truth.h"\n#include "sim/episode.h"\n',
            "eval/live/k_test.cc": '#include "sim/second/planting.h"\n',
        }
        found = list(dependency_graph.violations(self.plant({**planted, **allowed})))
        self.assertEqual([line.split(":")[0] for line in found], sorted(planted))

    def test_undeclared_direct_include_is_seen(self):
        planted = {
            "base/BUILD.bazel": 'cc_library(name = "a", hdrs = ["a.h"])\n'
                                'cc_library(name = "b", hdrs = ["b.h"], deps = [":a"])\n'
                                'cc_library(name = "c", srcs = ["c.cc"], deps = [":b"])\n',
            "base/a.h": "// Pure.\n",
            "base/b.h": '// Pure.\n#include "base/a.h"\n',
            "base/c.cc": '#include "base/a.h"\n#include "base/b.h"\n',
        }
        found = list(direct_includes.violations(self.plant(planted)))
        self.assertEqual(len(found), 1)
        self.assertIn("base/c.cc includes base/a.h", found[0])


class Tree(unittest.TestCase):
    def test_tidy(self):
        self.assertEqual(list(tidy.violations(ROOT)), [])

    def test_dependency_graph(self):
        self.assertEqual(list(dependency_graph.violations(ROOT)), [])

    def test_rooms_of_the_detector_have_no_circles(self):
        self.assertEqual(len(list(graphlib.TopologicalSorter(dependency_graph.ROOMS).static_order())),
                         len(dependency_graph.ROOMS))
        for room in (ROOT / "detector").iterdir():
            self.assertIn(room.name, [*dependency_graph.ROOMS, "testing"])

    def test_direct_includes(self):
        self.assertEqual(list(direct_includes.violations(ROOT)), [])

    def test_constants(self):
        self.assertEqual(list(constants.violations(ROOT)), [])

    def test_every_metric_is_read_by_a_source(self):
        self.assertEqual(list(metrics.violations(ROOT)), [])

    def test_every_fuzzer_has_seeds(self):
        fuzz = ROOT / "tests/fuzz"
        names = re.findall(r'name = "(\w+_fuzzer)"', (fuzz / "BUILD.bazel").read_text(encoding="utf-8"))
        self.assertIn("storage_fuzzer", names)
        self.assertEqual([n for n in names if n != "canary_fuzzer" and not list((fuzz / "corpus" / n).glob("*"))], [])

    def test_all_parts_say_one_version(self):
        image = r"name: lockstep-.+\n +newTag: (.+)"
        places = [
            ("daemon/version.h", r'kVersion\[\] = "(.+)"'),
            ("agent/recorder/ring_file.cc", r'kRecorderVersion\[\] = "(.+)"'),
            ("deploy/debian/changelog", r"\Alockstep \((.+?)\)"),
            ("deploy/kubernetes/base/kustomization.yaml", image),
            ("deploy/kubernetes/overlays/places/kustomization.yaml", image),
        ]
        said = {place: set(re.findall(pattern, (ROOT / place).read_text(encoding="utf-8"))) for place, pattern in places}
        version, = said["daemon/version.h"]
        self.assertEqual(said, {place: {version} for place, _ in places})

    def test_every_threat_has_its_test(self):
        self.assertEqual(list(threats.violations(ROOT)), [])

    def test_format(self):
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.h", "*.cc"],
                                cwd=ROOT, check=True, capture_output=True).stdout
        sources = [name for name in listed.split(b"\0") if name and (ROOT / name.decode()).exists()]
        self.assertTrue(sources)
        checked = subprocess.run(["xargs", "-0", "-n", "100", "-P", "2", "clang-format-14", "--dry-run", "-Werror"],
                                 cwd=ROOT, input=b"\0".join(sources), capture_output=True)
        self.assertEqual(checked.returncode, 0, checked.stderr.decode())


class Documents(unittest.TestCase):
    """docs/cli.md and docs/operations.md are run by tests/deploy; CI runs what README and docs/quality.md name."""

    def commands(self, document):
        text = (ROOT / document).read_text(encoding="utf-8")
        return [line for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
                for line in block.splitlines() if line and not line.startswith("#")]

    def test_quick_start_is_two_commands(self):
        self.assertEqual(self.commands("README.md"), ["./dev up", "./dev test"])

    def test_every_command_named_in_quality_exists(self):
        build = (ROOT / "tests/bench/BUILD.bazel").read_text(encoding="utf-8")
        suites = {kind: (ROOT / table).read_text(encoding="utf-8")
                  for kind, table in (("collectives", "eval/suites/suite_table.cc"),
                                      ("counters", "eval/counters/counter_suite_table.cc"),
                                      ("fleets", "sim/second/planting.cc"),
                                      ("live", "eval/live/live_suite_table.cc"),
                                      ("metamorphic", "eval/suites/suite_table.cc"),
                                      ("patterns", "eval/patterns/pattern_suite.cc"))}
        named = self.commands("docs/quality.md")
        self.assertTrue(named)
        for command in named:
            command = command.split(" #")[0].strip()
            evaluation = re.match(r"lockstep eval (\w+)(?: recordings/\S+)?(?: --suite (\S+))?"
                                  r"(?: --(?:seeds|episode|episodes|relation|trials) |$)", command)
            if evaluation:
                kind, suite = evaluation.groups()
                self.assertIn(f'"{suite}"' if suite else "", suites[kind])
                continue
            match = re.fullmatch(r"\./dev bench (\w+)(?: \S+)*", command)
            chaos = re.fullmatch(r"\./dev chaos (?:--processes )?--runs \d+ --seed \d+", command)
            script = re.fullmatch(r"(tests/\S+\.(?:sh|py))(?: \S+)*", command)
            self.assertTrue(match or chaos or (script and (ROOT / script.group(1)).exists())
                            or command in ("./dev up --once", "./dev test"), command)
            if match:
                self.assertIn(f'name = "{match.group(1)}_bench"', build)

    def headings(self, document):
        """As GitHub names them in links."""
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
                for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}

    def test_linked_files_and_their_sections_exist(self):
        for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
            links = re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", document.read_text(encoding="utf-8"))
            for target, section in links:
                linked = document.parent / target if target else document
                self.assertTrue(linked.exists(), f"{document.name}: {target}")
                if section:
                    self.assertIn(section, self.headings(linked), f"{document.name}: {target}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
