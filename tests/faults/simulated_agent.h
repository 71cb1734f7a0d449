// The agent of one machine: the real Uplink, Spool and SourceRunner, with a driver that may hang; what a recorder would
// tell comes from a simulated job.
//
// Not thread-safe: the functions belong to one thread, which shares nothing else with those of the agent.

#ifndef LOCKSTEP_TESTS_FAULTS_SIMULATED_AGENT_H_
#define LOCKSTEP_TESTS_FAULTS_SIMULATED_AGENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/spool/segment_log.h"
#include "agent/uplink/uplink.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "proto/telemetry.pb.h"
#include "sim/capture/agent_reports.h"
#include "tests/faults/simulated_disk.h"
#include "tests/faults/simulated_network.h"
#include "tests/faults/spool_disk.h"
#include "tests/faults/thread_world.h"

namespace lockstep::faults {

inline constexpr int64_t kSpoolSyncNanos = kNanosPerSecond;  // as the shipped configuration has it

// What somebody saw who looked at the wire of one incarnation.
struct WireRecord {
  std::set<uint64_t> sent;              // numbers of reports
  std::map<uint64_t, int64_t> spooled;  // of these, as far as they survive the agent: when they were written (world)
  uint64_t acknowledged = 0;            // newest number that it was told
  // When it was told of a number (world), and when the stream was opened on which that came.
  struct Told {
    int64_t at_ns = 0;
    int64_t opened_ns = 0;
  };
  std::map<uint64_t, Told> told;  // by acknowledged number
  int64_t died_ns = 0;            // world; 0 = it lived to the end
};

// By host and incarnation.
using WireRecords = std::map<std::pair<std::string, uint64_t>, WireRecord>;

// The job that all agents report. Thread-safe.
struct SharedReports {
  Mutex mutex;
  AgentReports& reports;
};

// What a run may choose of its agents.
struct AgentSetup {
  size_t spool_bytes = SegmentLogOptions().max_bytes;
  bool forgets_spool = false;  // breaks the spool on purpose
  bool forgets_syncs = false;  // breaks its disk on purpose
  // Puts more into the report of a tick than the job tells. Null = nothing.
  std::function<void(int32_t tick, wire::AgentReport& report)> adds;
};

class SimulatedAgent {
 public:
  // The agent reports at each tick, on its machine. It is dead until Start. Its spool is in the folder `spool`, which
  // is made.
  SimulatedAgent(Machine machine, size_t host, SharedReports& reports, SimulatedNetwork& network, WireRecords& records,
                 const std::string& spool, const AgentSetup& setup, const Random& random);
  ~SimulatedAgent();
  SimulatedAgent(const SimulatedAgent&) = delete;
  SimulatedAgent& operator=(const SimulatedAgent&) = delete;

  void Start();
  // What is in its spool is left to the next one; the rest is gone. The collector learns of it at once if `is_told`.
  void Kill(bool is_told);
  // The same for its machine: of what the spool did not sync, only a part is left. Nobody is told.
  void LosePower(Random& random);
  bool is_alive() const;

  // The wall clock of its machine shows so much more than it did.
  void JumpWall(int64_t nanos);
  void SetDisk(const DiskTrouble& trouble) { disk_.SetTrouble(trouble); }
  // The driver does not come back until then.
  void HangUntil(int64_t world_ns) { *hangs_until_ns_ = world_ns; }

  UplinkStatistics statistics() const;
  Machine machine() const { return machine_; }

 private:
  class Life;

  void Run();
  void Tick(int32_t tick);
  std::shared_ptr<Life> CurrentLife();

  const Machine machine_;
  const size_t host_;
  SharedReports& reports_;
  SimulatedNetwork& network_;
  WireRecords& records_;
  const std::string spool_;
  const AgentSetup setup_;
  SpoolDisk disk_;
  int64_t wall_ahead_ns_ = 0;
  uint64_t power_losses_ = 0;
  // Shared with threads that hang in the driver when their agent is dead.
  const std::shared_ptr<std::atomic<int64_t>> hangs_until_ns_ = std::make_shared<std::atomic<int64_t>>(0);
  mutable Mutex mutex_;
  Random random_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Life> life_ ABSL_GUARDED_BY(mutex_);  // nullptr = dead
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> undertakers_;
  std::thread thread_;
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_SIMULATED_AGENT_H_
