// All that is there in one run, and the hands that cause trouble in it.
//
// Not thread-safe: belongs to the first thread of a ThreadWorld.

#ifndef LOCKSTEP_TESTS_FAULTS_FAULT_WORLD_H_
#define LOCKSTEP_TESTS_FAULTS_FAULT_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "base/mutex.h"
#include "base/random.h"
#include "collector/store_writer.h"
#include "sim/capture/agent_reports.h"
#include "tests/faults/checkers.h"
#include "tests/faults/collector_life.h"
#include "tests/faults/simulated_agent.h"
#include "tests/faults/simulated_disk.h"
#include "tests/faults/simulated_network.h"
#include "tests/faults/trouble.h"
#include "tests/faults/write_ledger.h"

namespace lockstep::faults {

class FaultWorld {
 public:
  // The largest fills of queues that were seen.
  struct Peaks {
    QueueFill collector;
    size_t outbox_bytes = 0;
  };

  FaultWorld(AgentReports& reports, const std::string& directory, const StoreWriterOptions& writer,
             const Sabotage& sabotage, const AgentSetup& setup, const Random& random);
  ~FaultWorld();
  FaultWorld(const FaultWorld&) = delete;
  FaultWorld& operator=(const FaultWorld&) = delete;

  int32_t agents() const { return static_cast<int32_t>(agents_.size()); }

  // Starts everything, and causes the troubles at their times, until `until_ns` (world). Then all troubles are over.
  void Run(absl::Span<const Trouble> troubles, int64_t until_ns);
  // Waits until all is acknowledged, stored and told, and nothing is on its way. False = it is not, after that time.
  bool ComesToRest(int64_t within_ns);

  // Kills the collector. What it leaves.
  std::shared_ptr<SimulatedDisk> End();

  const WireRecords& wire() const { return wire_; }
  const std::vector<Death>& deaths() const { return deaths_; }
  const Peaks& peaks() const { return peaks_; }
  // When the disk refused, was slow or lied, and when a byte of it changed.
  const std::vector<TimeSpan>& disk_troubles() const { return disk_troubles_; }
  // By host: when its machine lost its power, and when its spool could not sync in time (world).
  const std::map<std::string, SpoolTroubles>& spool_troubles() const { return spool_troubles_; }
  // When starts were refused because history was damaged, and it was moved away (world).
  const std::vector<int64_t>& histories_given_up() const { return histories_given_up_; }
  const WriteLedger& ledger() const { return ledger_; }

 private:
  // One start of the collector until its end.
  struct Life {
    Machine machine = kOutside;
    std::shared_ptr<SimulatedDisk> disk;
    bool is_dead = false;
    bool is_serving = false;
    bool has_ended = false;
    int64_t ended_ns = 0;     // world
    int damaged_seconds = 0;  // in a row
    QueueFill fill;
    std::thread thread;
  };

  void StartCollector();
  void RunLife(Life& life);
  bool MayServe(Life& life, CollectorLife& collector);
  void EndCollector(bool is_power_loss);
  // Its operator ends a collector whose history is damaged, and moves the history away, as /readyz says.
  void GiveUpHistory(Life& life);
  void Cause(const Trouble& trouble);
  void CauseAtAgent(const Trouble& trouble, SimulatedAgent& agent);
  void EndAgent(const Trouble& trouble, SimulatedAgent& agent);
  void SetSpoolDisk(const Trouble& trouble, SimulatedAgent& agent);
  SpoolTroubles& SpoolTroublesOf(const Trouble& trouble);
  void KillCollector(const Trouble& trouble);
  void SetDisk(const Trouble& trouble);
  void SetReceiver(const Trouble& trouble);
  void RestartCollector(const Trouble& trouble);
  void StartAfter(Life& life);
  void CauseDue();
  void Heal();
  // Has the thread of the world do it then.
  void At(int64_t world_ns, std::function<void()> event);
  void NotePeaks();
  // To be asked once per second.
  bool IsAtRest();

  const std::string directory_;
  const StoreWriterOptions writer_;
  const Sabotage sabotage_;
  Random random_;
  WireRecords wire_;
  WriteLedger ledger_;
  SharedReports reports_;
  SimulatedNetwork network_;
  std::vector<std::unique_ptr<SimulatedAgent>> agents_;
  std::vector<std::unique_ptr<Life>> lives_;
  Mutex mutex_;  // of the lives' state and of `events_`, against the threads of the lives
  std::multimap<int64_t, std::function<void()>> events_ ABSL_GUARDED_BY(mutex_);  // by world time
  std::shared_ptr<SimulatedDisk> disk_;
  int64_t wall_ahead_ns_ = 0;
  std::vector<Death> deaths_;
  Peaks peaks_;
  std::vector<TimeSpan> disk_troubles_;
  std::map<std::string, SpoolTroubles> spool_troubles_;
  std::vector<int64_t> histories_given_up_;
  uint64_t messages_before_ = 0;
  int quiet_seconds_ = 0;
};

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_FAULT_WORLD_H_
