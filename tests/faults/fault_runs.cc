// Runs seeds, each in a process of its own:
//
//   fault_runs --runs N --seed FIRST     prints the seeds that failed, with their trace, and "N of N runs are well"
//   fault_runs --runs 1 --seed S --trace prints the trace, whatever came of it

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/testing/temporary_directory.h"
#include "tests/faults/fault_run.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {
namespace {

constexpr int kWell = 0;
constexpr int kUsage = 2;
constexpr unsigned kLongestRunSeconds = 120;  // of real time

struct Arguments {
  uint64_t runs = 1;
  uint64_t seed = 1;
  bool trace = false;
  Sabotage sabotage;
};

// One arena, one processor: addresses and what depends on them are the same in each run of a seed.
void MakeRepeatable() {
  mallopt(M_ARENA_MAX, 1);
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof(own), &own) != 0) return;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &own)) continue;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof(own), &own);
    return;
  }
}

[[noreturn]] void RunOne(const FaultRunOptions& options, int trace) {
  MakeRepeatable();
  dup2(trace, STDERR_FILENO);
  alarm(kLongestRunSeconds);
  int code = EXIT_FAILURE;
  RunThreadWorld(
      options.seed,
      [&] {
        const FaultRunResult result = RunFaults(options);
        dprintf(trace, "%.1f s, %lu troubles, %lu reports, %lu incidents, %lu deliveries, %lu switches\n",
                result.seconds, result.troubles, result.reports, result.incidents, result.deliveries, result.switches);
        for (const std::string& line : result.violations) dprintf(trace, "WRONG %s\n", line.c_str());
        code = result.violations.empty() ? kWell : EXIT_FAILURE;
        _exit(code);
      },
      [&](const std::string& threads) {
        dprintf(trace, "WRONG all threads wait for each other:\n%s", threads.c_str());
      });
  _exit(code);
}

void Print(int trace) {
  lseek(trace, 0, SEEK_SET);
  char buffer[1 << 16];
  ssize_t bytes = 0;
  while ((bytes = read(trace, buffer, sizeof(buffer))) > 0) fwrite(buffer, 1, static_cast<size_t>(bytes), stdout);
}

bool RunSeed(const Arguments& arguments, uint64_t seed) {
  const TemporaryDirectory directory;
  const int trace = memfd_create("trace", MFD_CLOEXEC);
  CHECK(trace >= 0);
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    RunOne({.seed = seed, .sabotage = arguments.sabotage, .directory = (directory.path() / "history").string()}, trace);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  const bool is_well = WIFEXITED(status) && WEXITSTATUS(status) == kWell;
  if (WIFSIGNALED(status)) dprintf(trace, "WRONG the run was ended by signal %d\n", WTERMSIG(status));
  if (!is_well || arguments.trace) Print(trace);
  close(trace);
  if (!is_well) printf("seed %lu FAILED; again: ./dev chaos --runs 1 --seed %lu --trace\n", seed, seed);
  return is_well;
}

bool Parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (flag == "--trace") {
      arguments.trace = true;
    } else if (flag == "--break") {
      const absl::string_view what = value;
      arguments.sabotage.loses_writes = what == "writes";
      arguments.sabotage.forgets_marks = what == "marks";
      arguments.sabotage.forgets_incidents = what == "incidents";
      arguments.sabotage.alters_log = what == "log";
      arguments.sabotage.loses_changes = what == "changes";
      arguments.sabotage.forgets_spool = what == "spool";
      arguments.sabotage.forgets_syncs = what == "syncs";
      ++i;
    } else if ((flag == "--runs" && absl::SimpleAtoi(value, &arguments.runs)) ||
               (flag == "--seed" && absl::SimpleAtoi(value, &arguments.seed))) {
      ++i;
    } else {
      return false;
    }
  }
  return true;
}

int Run(const Arguments& arguments) {
  uint64_t well = 0;
  for (uint64_t i = 0; i < arguments.runs; ++i) well += RunSeed(arguments, arguments.seed + i) ? 1 : 0;
  printf("%lu of %lu runs are well\n", well, arguments.runs);
  return well == arguments.runs ? kWell : EXIT_FAILURE;
}

}  // namespace
}  // namespace lockstep::faults

int main(int argc, char** argv) {
  // Where the kernel lets us, addresses are the same in each process.
  const int persona = personality(0xffffffff);
  if (persona >= 0 && (persona & ADDR_NO_RANDOMIZE) == 0 && personality(persona | ADDR_NO_RANDOMIZE) >= 0) {
    if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0) execv("/proc/self/exe", argv);
  }
  lockstep::faults::Arguments arguments;
  if (!lockstep::faults::Parse(argc, argv, arguments)) {
    fputs(
        "usage: fault_runs [--runs N] [--seed FIRST] [--trace] [--break "
        "writes|marks|incidents|log|changes|spool|syncs]\n",
        stderr);
    return lockstep::faults::kUsage;
  }
  return lockstep::faults::Run(arguments);
}
