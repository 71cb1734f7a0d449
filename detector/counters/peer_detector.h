// The default detector on counters: which machines went away from their peers, several at once, in seconds.
//
// Every metric is watched by itself (metric_watch.h, peer_group.h); this puts together what the metrics of one machine
// say and asks whether it is a machine's fault at all:
// - Pooling. The three metrics of a machine with the most evidence add up; an alarm needs 1, plus kPerMetric for each
//   metric beyond the first. Load of the host (CPU, pressure, disk, management network) is one sign however many
//   metrics show it, and counts a quarter.
// - Witness. Such load accuses nobody unless the job is degraded (job_activity.h) and began to be when the load did,
// and
//   counts in full then: a backup is no fault. It must be more than what chance puts there (load_chance.h), and must
//   not have ended. More work than the peers do is no sign of a fault either, nor is a little less of it (bytes, tensor
//   activity) while the job fares well: that is a smaller share of the data.
// - Slower jobs. On the arithmetic of a hang, below, the surprisal of readings of a slow metric, together
//   (tail_record.h), suffices when the job became slower at the time; and that a device changed since then
//   (degradation_sums.h), when nobody else has more evidence against it. Both only until somebody is known to be at
//   fault.
// - Hangs. What stopped working at the moment at which the job did needs only the evidence of one look at all machines
//   (EvidenceInHang): something is at fault. What stopped before all did may show it by one reading (work_stop.h).
// - Many at once. When more than `most_at_once` of the machines go the same way, in one metric or in any metrics of
//   work, the cause is common: it accuses nobody, nor does any work or load that began on them at the time. After a
//   minute their new places are the usual ones, and who still stands out does so by itself.
// - Few machines. Of two or three the median cannot tell which one changed: then the one whose level left its own past,
//   while the others' did not, is accused, or nobody. One machine is never accused.
// - Silence. A machine whose samples end while the others' go on is accused after silent_ms; and much earlier when the
//   job got stuck at the same moment and no other machine explains that by silence or by a device that stands out.
//
// Fed one tick of one metric at a time, in the order of time; deterministic. Cost per tick: O(units). Memory: 220 bytes
// per unit, at most max_units units and max_metrics metrics; the rest is refused and counted. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_PEER_DETECTOR_H_
#define LOCKSTEP_DETECTOR_COUNTERS_PEER_DETECTOR_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/metric_catalog.h"
#include "detector/counters/job_activity.h"
#include "detector/counters/load_chance.h"
#include "detector/counters/metric_watch.h"
#include "detector/counters/sign_meaning.h"

namespace lockstep {

struct PeerOptions {
  double false_alarms_per_machine_day = 1e-4;  // one per day of a fleet of 10,000 machines
  double series_per_machine = 128;             // for the budget, until SetSeriesPerMachine says it
  // How long a sign lasts at least: of one metric of a device alone, of load of the host, of several together.
  // Empirical: bursts on healthy machines last 12 s (sim/counters/counter_spec.h).
  int64_t min_persistence_ms = 12'000;
  int64_t min_soft_ms = 15'000;
  int64_t min_pooled_ms = 10'000;
  // More than twice the gaps of healthy machines (20 s in sim/counters/counter_spec.h); at a hang more than a restart.
  int64_t silent_ms = 45'000;
  int64_t silent_when_stuck_ms = 12'000;
  double most_at_once = 0.15;         // of the machines; more have a common cause. Empirical
  std::vector<int32_t> duty_of_host;  // roles, by host index; empty or -1 = not known
  int32_t max_units = 1'000'000;
  int32_t max_metrics = 256;
  // Breaks the detector: accuses the machine next to the one it means. For tests of the evaluation, which must notice.
  bool sabotage_accuse_neighbour = false;
};

// More machines went the same way than may be faulty independently.
struct CommonShift {
  static constexpr int32_t kAllWork = -1;  // in place of one metric

  int32_t watch = kAllWork;
  bool up = false;
  int64_t onset_ms = 0;        // of the first
  std::vector<int32_t> hosts;  // rising
  CounterSign strongest;
};

// Why a machine stands out and is accused, or not.
enum class CaseKind : uint8_t {
  kAlarm,    // the machine is different
  kSoft,     // only in load of its own, and the job is not degraded
  kSilence,  // nothing comes from it any more
};

struct MachineCase {
  int32_t host = -1;
  CaseKind kind = CaseKind::kAlarm;
  double score = 0;  // pooled evidence, 1 = enough
  int64_t onset_ms = 0;
  int64_t since_ms = 0;            // when it became a case of this kind
  std::vector<CounterSign> signs;  // the best of each metric, the strongest first; empty for silence
};

class PeerDetector {
 public:
  // What an alarm of two or three metrics needs more, since there are more ways to pick them. Empirical.
  static constexpr double kPerMetric = 0.1;
  static constexpr size_t kPooledMetrics = 3;

  explicit PeerDetector(const PeerOptions& options) : options_(options) {}

  // Index of the metric called `name`, made when it is new; -1 when it is not compared or there are too many.
  int32_t Watch(absl::string_view name, Metric metric, double tick_seconds);
  // Row of a new unit of that metric; -1 when there are too many.
  int32_t AddUnit(int32_t watch, int32_t host, const std::string& device);

  // How many series of metrics a machine has: the budget of false alarms is divided by them.
  void SetSeriesPerMachine(double series);
  // As PeerOptions::duty_of_host, from now on. If anybody's peers change, all are learnt anew.
  void SetDuties(absl::Span<const int32_t> duty_of_host);

  // One tick of one metric, one value per row. `time_ms` must not decrease.
  void Step(int32_t watch, absl::Span<const float> values, int64_t time_ms, double tick_seconds);

  // What stands at `now_ms`, by host. Must be called at least every few seconds of data time.
  const std::vector<MachineCase>& Conclude(int64_t now_ms);

  const MetricWatch& watch(int32_t index) const { return watches_[static_cast<size_t>(index)]; }
  int32_t watches() const { return static_cast<int32_t>(watches_.size()); }
  const JobActivity& activity() const { return activity_; }
  bool JobIsDegraded() const { return degraded_; }
  int64_t LastSampleMs(int32_t host) const { return hosts_[static_cast<size_t>(host)].last_ms; }
  uint64_t refused_units() const { return refused_units_; }
  // (machine, metric) signs that the newest Conclude set aside because too many machines showed them.
  int common_signs() const { return common_signs_; }
  const std::vector<CommonShift>& common_shifts() const { return common_shifts_; }  // of the newest Conclude

 private:
  struct Host {
    int64_t first_ms = 0;
    int64_t last_ms = 0;  // newest sample of any metric; 0 = none yet
    CaseKind kind = CaseKind::kAlarm;
    int64_t case_since_ms = 0;  // 0 = no case
    // When it last went where too many went, by metric and direction; since it last had no signs.
    std::map<std::pair<int32_t, bool>, int64_t> common_ms;
    bool has_signs = false;
    std::vector<size_t> best;  // into signs_, of the current Conclude
  };

  // What the signs of one host come to.
  struct Pool {
    double score = 0;      // in alarms
    int64_t onset_ms = 0;  // of what counts
    bool witness = false;  // something in it may accuse
    bool hard = false;     // a device does
  };

  void CollectSigns(int64_t now_ms);
  bool IsOwnAffair(const std::pair<int32_t, bool>& way) const;
  void SetCommonAside(int64_t now_ms);
  void NoteCommonShift(int32_t watch_index, bool up, const std::set<int32_t>& hosts);
  void SetAmbiguousAside(const std::map<int32_t, std::vector<size_t>>& of_metric);
  std::vector<int32_t> OwnChange(const std::vector<size_t>& signs) const;
  void NoteLoads(int64_t now_ms);
  Pool AddUp(const Host& host, bool serious, int64_t now_ms) const;
  void JudgeHost(int32_t host, int64_t now_ms);
  void JudgeSilence(int64_t now_ms);
  void Open(int32_t host, CaseKind kind, double score, int64_t now_ms);

  PeerOptions options_;
  std::vector<MetricWatch> watches_;
  std::vector<Host> hosts_;
  std::vector<MachineBlame> blames_;  // by host
  JobActivity activity_;
  LoadChance loads_;
  bool degraded_ = false;
  int32_t units_ = 0;
  uint64_t refused_units_ = 0;
  int common_signs_ = 0;
  std::vector<CommonShift> common_shifts_;
  std::map<std::pair<int32_t, bool>, int64_t> common_since_ms_;  // by metric and direction; 0 = not now
  double fastest_tick_seconds_ = 1e9;
  SignMeaning meaning_;
  uint64_t gaps_ = 0;  // silences that ended
  std::vector<CounterSign> signs_;
  std::vector<bool> common_;                    // per sign
  std::vector<SignMeaning::Meaning> meanings_;  // per sign
  std::vector<MachineCase> cases_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_PEER_DETECTOR_H_
