// The agent of one machine: the real Uplink, reports of a simulated job instead of sources.
//
// Not thread-safe: the functions belong to one thread, which shares nothing else with those of the agent.

#ifndef LOCKSTEP_TESTS_FAULTS_SIMULATED_AGENT_H_
#define LOCKSTEP_TESTS_FAULTS_SIMULATED_AGENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/uplink/uplink.h"
#include "base/mutex.h"
#include "base/random.h"
#include "sim/capture/agent_reports.h"
#include "tests/faults/simulated_network.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {

// What somebody saw who looked at the wire of one incarnation.
struct WireRecord {
  std::set<uint64_t> sent;    // numbers of reports
  uint64_t acknowledged = 0;  // newest number that it was told
  // When it was told of a number (world), and when the stream was opened on which that came.
  struct Told {
    int64_t at_ns = 0;
    int64_t opened_ns = 0;
  };
  std::map<uint64_t, Told> told;  // by acknowledged number
};

// By host and incarnation.
using WireRecords = std::map<std::pair<std::string, uint64_t>, WireRecord>;

// The job that all agents report. Thread-safe.
struct SharedReports {
  Mutex mutex;
  AgentReports& reports;
};

class SimulatedAgent {
 public:
  // The agent reports at each tick from `begin_ns` on (world), on its machine. It is dead until Start.
  SimulatedAgent(Machine machine, size_t host, SharedReports& reports, SimulatedNetwork& network, WireRecords& records,
                 const Random& random);
  ~SimulatedAgent();
  SimulatedAgent(const SimulatedAgent&) = delete;
  SimulatedAgent& operator=(const SimulatedAgent&) = delete;

  void Start();
  // Its reports that were not acknowledged are gone. The collector learns of it at once if `is_told`.
  void Kill(bool is_told);
  bool is_alive() const;

  // A source does not come back: no ticks until then.
  void HangUntil(int64_t world_ns);

  UplinkStatistics statistics() const;
  Machine machine() const { return machine_; }

 private:
  class Life;

  void Run();
  void Tick(int32_t tick);

  const Machine machine_;
  const size_t host_;
  SharedReports& reports_;
  SimulatedNetwork& network_;
  WireRecords& records_;
  mutable Mutex mutex_;
  Random random_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Life> life_ ABSL_GUARDED_BY(mutex_);  // nullptr = dead
  int64_t hangs_until_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> undertakers_;
  std::thread thread_;
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_SIMULATED_AGENT_H_
