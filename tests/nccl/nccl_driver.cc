// A process that looks like an NCCL job to a profiler plugin: several ranks and communicators, each with a launching
// and a progress thread, playing a random script. It writes down what it did (truth.h).
//
//   nccl_driver PLUGIN NEWEST_VERSION TRUTH_FILE [name=value ...]
//
//   seed=N         of the script
//   operations=N   per rank, roughly
//   ending=hang    the process stays, with operations unfinished, until it is killed
//   awkward=0      no awkward orders
//   lives=N        finalizes everything, unloads the plugin and starts again N times
//   phases=N       plays N scripts one after the other in each life
//   first=N        operations per rank of the first phase, where they differ from the others'
//   pause_ms=N     sleeps between phases
//   busy=N         so many threads take the machine's CPUs meanwhile
//   hold=1         makes a file TRUTH_FILE.held after the first inits, and waits for one TRUTH_FILE.go
//   foreign=MASK   bits that somebody else writes into NCCL's mask for a while
//   nccl=N         what ncclGetVersion says; by default a sound release with that version of the interface
//
// Exit code: 0 = done, 2 = usage, 3 = the plugin could not be loaded.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/stop_signal.h"
#include "tests/nccl/abi_values.h"
#include "tests/nccl/event.h"
#include "tests/nccl/played_rank.h"
#include "tests/nccl/plugin_library.h"
#include "tests/nccl/rank_script.h"
#include "tests/nccl/truth.h"

namespace lockstep::nccl {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitNoPlugin = 3;

int nccl_release = 0;

struct Arguments {
  std::string plugin;
  int newest_version = 0;
  std::string truth_path;
  ScriptOptions script;
  int lives = 1;
  int phases = 1;
  int first_operations = 0;
  int64_t pause_ns = 0;
  int busy_threads = 0;
  bool is_held = false;
};

bool Parse(int argc, char** argv, Arguments* arguments) {
  if (argc < 4) return false;
  arguments->plugin = argv[1];
  arguments->newest_version = atoi(argv[2]);
  arguments->truth_path = argv[3];
  if (arguments->newest_version < kOldestVersion || arguments->newest_version > kNewestVersion) return false;
  nccl_release = kReleases[arguments->newest_version];
  for (int i = 4; i < argc; ++i) {
    const char* const equals = strchr(argv[i], '=');
    if (equals == nullptr) return false;
    const std::string name(static_cast<const char*>(argv[i]), equals);
    const int64_t number = strtoll(equals + 1, nullptr, 0);
    if (name == "seed") {
      arguments->script.seed = static_cast<uint64_t>(number);
    } else if (name == "operations") {
      arguments->script.operations = static_cast<int>(number);
    } else if (name == "ending") {
      arguments->script.ending = strcmp(equals + 1, "hang") == 0 ? Ending::kHang : Ending::kComplete;
    } else if (name == "awkward") {
      arguments->script.has_awkward_orders = number != 0;
    } else if (name == "lives") {
      arguments->lives = static_cast<int>(number);
    } else if (name == "phases") {
      arguments->phases = static_cast<int>(number);
    } else if (name == "first") {
      arguments->first_operations = static_cast<int>(number);
    } else if (name == "busy") {
      arguments->busy_threads = static_cast<int>(number);
    } else if (name == "pause_ms") {
      arguments->pause_ns = number * kNanosPerMilli;
    } else if (name == "hold") {
      arguments->is_held = number != 0;
    } else if (name == "foreign") {
      arguments->script.foreign_mask = static_cast<uint32_t>(number);
    } else if (name == "nccl") {
      nccl_release = static_cast<int>(number);
    } else {
      return false;
    }
  }
  return true;
}

// Two GPUs of one communicator in this process, one communicator without a name, and one that spans a pair.
std::vector<Communicator> CommunicatorsOf(int life) {
  const uint64_t first = 0xA000 + (static_cast<uint64_t>(life) << 32);
  return {{.id = first, .name = "world", .nodes = 2, .ranks = 8, .rank = 2},
          {.id = first, .name = "world", .nodes = 2, .ranks = 8, .rank = 3},
          {.id = first + 1, .name = "", .nodes = 1, .ranks = 4, .rank = 0},
          {.id = first + 2, .name = "pipeline", .nodes = 1, .ranks = 2, .rank = 1}};
}

// One script for each rank, in two threads each.
void PlayPhase(const ScriptOptions& script, const std::vector<std::unique_ptr<PlayedRank>>& ranks, uint64_t seed,
               int32_t* mask, Truth* truth) {
  std::vector<std::unique_ptr<RankScript>> scripts;
  for (const auto& rank : ranks) {
    ScriptOptions options = script;
    options.seed = seed + scripts.size();
    // One script meddles, or two would restore each other's mask.
    if (!scripts.empty()) options.foreign_mask = 0;
    scripts.push_back(std::make_unique<RankScript>(*rank, mask, options));
  }
  std::vector<std::thread> threads;
  for (const auto& script : scripts) {
    threads.emplace_back([&script] { script->Launch(); });
    threads.emplace_back([&script] { script->Progress(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < ranks.size(); ++i) AddRank(*ranks[i], *scripts[i], *truth);
  truth->masks.push_back(static_cast<uint32_t>(*mask));
}

// Threads that leave little of the machine to others.
class BusyThreads {
 public:
  explicit BusyThreads(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!has_ended_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~BusyThreads() {
    has_ended_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads_) thread.join();
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

 private:
  std::atomic<bool> has_ended_{false};
  std::vector<std::thread> threads_;
};

// One life of the plugin between its load and its unload. False = it could not be loaded.
bool Live(const Arguments& arguments, int life, Truth* truth) {
  const auto library = PluginLibrary::Load(arguments.plugin, arguments.newest_version);
  if (!library.ok()) {
    fprintf(stderr, "nccl_driver: %s\n", library.status().ToString().c_str());
    return false;
  }
  static int32_t mask = 0;  // NCCL's, which outlives the plugin
  StopSignal never;
  EventCaller caller((*library)->table(), (*library)->version());
  truth->version = caller.version();
  truth->release = static_cast<uint32_t>(nccl_release);
  std::vector<std::unique_ptr<PlayedRank>> ranks;
  for (const Communicator& communicator : CommunicatorsOf(life)) {
    ranks.push_back(std::make_unique<PlayedRank>(caller, &mask, communicator));
    truth->accepted_ranks += ranks.back()->Init() ? 1 : 0;
  }
  if (life == 0) truth->mask = static_cast<uint32_t>(mask);
  if (arguments.is_held) {
    FILE* const held = fopen((arguments.truth_path + ".held").c_str(), "w");
    if (held != nullptr) fclose(held);
  }
  while (arguments.is_held && access((arguments.truth_path + ".go").c_str(), F_OK) != 0) {
    never.WaitFor(kNanosPerMilli);
  }
  for (int phase = 0; phase < arguments.phases; ++phase) {
    if (phase > 0) never.WaitFor(arguments.pause_ns);
    const auto number = static_cast<uint64_t>(life * arguments.phases + phase);
    ScriptOptions script = arguments.script;
    if (phase == 0 && arguments.first_operations > 0) script.operations = arguments.first_operations;
    PlayPhase(script, ranks, arguments.script.seed * 1000 + 10 * number, &mask, truth);
  }
  truth->violations += caller.violations();
  if (arguments.script.ending == Ending::kHang) {
    // Nothing of it may end: this is what a hang looks like from outside.
    WriteTruth(*truth, arguments.truth_path);
    while (true) pause();
  }
  for (const auto& rank : ranks) rank->Finalize();
  return true;
}

int Run(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    fprintf(stderr, "usage: nccl_driver PLUGIN NEWEST_VERSION TRUTH_FILE [name=value ...]\n");
    return kExitUsage;
  }
  Truth truth;
  const BusyThreads busy(arguments.busy_threads);
  for (int life = 0; life < arguments.lives; ++life) {
    if (!Live(arguments, life, &truth)) return kExitNoPlugin;
  }
  return WriteTruth(truth, arguments.truth_path) ? 0 : 1;
}

}  // namespace
}  // namespace lockstep::nccl

// What NCCL's own library exports, for plugins that ask which release it is.
extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  *version = lockstep::nccl::nccl_release;
  return 0;
}

int main(int argc, char** argv) { return lockstep::nccl::Run(argc, argv); }
