// A simulated synchronous job as the collector would hear of it: host reports with operations, progress and states.
//
// Every rank works, enters the operations of the step's program, waits for the last member, and leaves together with
// it. Each host has a clock of its own, hours away from the others. Same options and seed, same reports. Times in
// seconds since the start of the job. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_TESTING_JOB_GENERATOR_H_
#define LOCKSTEP_DETECTOR_TESTING_JOB_GENERATOR_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/random.h"
#include "detector/model/input.h"

namespace lockstep {

inline constexpr double kForever = 1e6;

// One operation of every step: its members are partitioned into communicators.
struct GeneratedOperation {
  OperationKind kind = OperationKind::kAllReduce;
  uint64_t bytes = 1 << 20;
  std::function<int(int)> group_of_rank;  // ranks of one group share a communicator; -1 = does not take part
  double own_seconds = 0.03;              // work before it
  double transfer_seconds = 0.001;
};

struct SlowPhase {
  int rank = 0;
  double from = 0, until = kForever;
  double factor = 1.5;
  int operation = -1;  // of the program, the work before it; negative = before all
};

// The process makes no progress between `from` and `until`.
struct Standstill {
  int rank = 0;
  double from = 0, until = kForever;
  ProcessState state = ProcessState::kStopped;
};

// From the first operation (of a step, if crossed) that begins after `from` the rank calls something else than the
// others, and nobody gets out.
struct WrongCall {
  int rank = 0;
  double from = 0;
  OperationKind kind = OperationKind::kBarrier;  // instead of the right one
  bool crossed = false;  // instead: the right operations in the wrong order, so that two ranks wait for each other
};

struct Noise {
  double own_cv = 0.02;               // of every piece of work, log-normal
  double spike_probability = 0;       // per rank and piece of work
  double spike_factor = 5;            // at most; uniform from 1
  double step_spike_probability = 0;  // all ranks together
  double step_spike_factor = 10;
  double phases_per_second = 0;  // a random rank is slow for less than a second
  double phase_seconds = 1;      // at most
  double phase_factor = 2;
};

// Own time CV 25 %, 3 % spikes up to 5x per piece of work, 1 % whole-step spikes up to 10x, and every 5 s a random rank
// twice as slow for up to 1 s.
Noise UglyNoise();

struct JobGeneratorOptions {
  int ranks = 4;
  int ranks_per_host = 4;
  std::vector<GeneratedOperation> program;  // empty = DefaultProgram
  Noise noise;
  std::vector<SlowPhase> slow;
  std::vector<Standstill> standstills;
  std::vector<WrongCall> wrong_calls;
  double report_seconds = 1.0;
  double ends_at = kForever;  // all ranks finalize at the first step that begins later
  uint64_t seed = 1;
};

// Pairs {0,1}, {2,3}, ... first, then everybody: the program whose victims are easy to accuse.
std::vector<GeneratedOperation> DefaultProgram();
// Everybody, once per step.
std::vector<GeneratedOperation> WorldOnlyProgram();

class JobGenerator {
 public:
  explicit JobGenerator(JobGeneratorOptions options);

  // The next round: one report of each host, in order of host, all made at NowSeconds().
  std::vector<HostReport> NextReports();
  double NowSeconds() const { return now_; }
  int64_t NowNanos() const;  // the collector's clock

 private:
  struct Event {
    int communicator;  // index in communicators_
    OperationKind kind;
    uint64_t bytes;
    uint64_t sequence;
    double enter, leave;
  };
  struct CommunicatorOfJob {
    int operation, group;
    std::vector<int> ranks;
    uint64_t operations = 0;
  };
  struct RankState {
    double free_at = 0;  // left its last operation
    double worked = 0;
    std::vector<Event> events;  // not yet reported as finished
    bool over = false;          // no more steps
  };
  struct Counts {
    uint64_t entered = 0, left = 0;
    double changed = 0;
  };

  void SimulateStep();
  void SimulateOperation(size_t index, double step_factor);
  const WrongCall* WrongCallAt(int rank, double at) const;
  double Work(int rank, double from, double seconds);
  void CallNextInstead(int rank, size_t index, double* arrival);
  double AfterStandstill(int rank, double at) const;
  RankView View(int rank);
  int64_t HostNanos(int host, double seconds) const;

  JobGeneratorOptions options_;
  Random random_;
  std::vector<CommunicatorOfJob> communicators_;
  std::vector<std::vector<int>> communicator_of_;  // [operation][rank]
  std::vector<RankState> ranks_;
  std::vector<std::vector<Counts>> counts_;  // [rank][communicator]
  double simulated_until_ = 0;
  double now_ = 0;
  int phase_rank_ = -1;
  double phase_until_ = -1;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_TESTING_JOB_GENERATOR_H_
