// What hosts say of themselves: kernel events and counters that need no comparison, folded into findings.
//
// A finding is one (host, device, sign). It opens at the first event, counts every further one and stays for
// kStickyNs after the last was heard of: a link that flaps between two looks, or recovers before anybody looks, is
// still there to be seen. Counters are judged by their growth; one that falls back was reset, and starts anew. What a
// program's crash leaves on many machines at one time is folded into one finding of the job.
//
// Bounded by kMaxFindings and kMaxCounters; what does not fit is counted. Not thread-safe. No clock: times are the
// caller's, on one clock, and must not decrease.

#ifndef LOCKSTEP_DETECTOR_HARDWARE_EVENT_JUDGE_H_
#define LOCKSTEP_DETECTOR_HARDWARE_EVENT_JUDGE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "detector/hardware/counter_rules.h"
#include "detector/model/input.h"
#include "detector/verdict/host_reasons.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

struct HardwareFinding {
  std::string host;    // "" = the whole job
  std::string device;  // as the event names it: PCI address, "gpu0", "mlx5_0/1"; "" = the host
  StatedClass verdict_class;
  Metric metric = Metric::kUnspecified;  // whose rule holds; unspecified = a line of the kernel log
  bool hard = false;  // true = broken, whatever the job does; false = counts only if the job is degraded
  HardwareSign sign;
  bool notable = true;  // false = worth a sentence when something else is wrong, and not by itself
  uint64_t count = 0;   // lines, or the growth of the counter
  int32_t hosts = 1;    // that say the same, of a finding of the job
  int64_t first_ns = 0;
  int64_t last_ns = 0;

  bool operator==(const HardwareFinding&) const = default;
};

class EventJudge {
 public:
  // Bounds of memory.
  static constexpr size_t kMaxFindings = 10'000;
  static constexpr size_t kMaxCounters = 500'000;
  // By judgement, not measured.
  static constexpr int64_t kStickyNs = 600'000'000'000;
  // As long as an agent waits before it looks for a driver again (NvmlSource::kRetryNs): sooner it has not tried twice.
  static constexpr int64_t kSourceFailsNs = 30'000'000'000;
  // The same complaint of at least this many hosts within kStormNs is the job's, not the hosts'. By judgement, not
  // measured: two may be one pair of ends.
  static constexpr int kStormHosts = 3;
  static constexpr int64_t kStormNs = 60'000'000'000;

  // `happened_ns` may be long before `now_ns`, when it is heard of: its agent was away.
  void Observe(const std::string& host, const KernelEvent& event, int64_t happened_ns, int64_t now_ns);
  // Sources that fail for less than kSourceFailsNs say nothing. Longer ones explain what else is found on their host;
  // by themselves they count where they hang, or worked before: an agent without some right is how somebody set it up.
  // Where only parts of the machine are gone, each of them is a finding.
  void Observe(const std::string& host, const SourceFailure& failure, int64_t now_ns);
  // Values that are not finite, or DCGM's sentinels, say nothing.
  void Observe(const std::string& host, const MetricSample& sample, int64_t now_ns);

  // What holds, hard ones first, then by host, device and sign.
  std::vector<HardwareFinding> Findings(int64_t now_ns) const;

  uint64_t refused() const { return refused_; }

 private:
  struct Key {
    std::string host;
    std::string device;
    HardwareSign sign;
    auto operator<=>(const Key&) const = default;
  };
  struct Held {
    VerdictClass verdict_class;
    Metric metric;  // unspecified = of the kernel log
    bool hard;
    bool of_program;  // says what a program did: many at once are a storm
    bool notable;
    uint64_t count;
    int64_t first_ns;
    int64_t last_ns;
    int64_t heard_ns;  // of the last
  };
  // Two windows, half a window apart, so that a burst over the edge of one lies inside the other. Of a state that is to
  // change, only since when it has been `last`; of one that must not fall, `base` is the most.
  struct Counter {
    double last = 0;
    double base[2] = {};
    int64_t since_ns[2] = {};
  };
  using CounterKey = std::tuple<std::string, std::string, size_t>;  // host, device, row of CounterRules

  void Hold(Key key, const Held& fresh);
  void Judge(const std::string& host, const MetricSample& sample, size_t row, int64_t now_ns);
  void JudgeIncrease(const std::string& host, const MetricSample& sample, size_t row, int64_t now_ns);
  void JudgeStay(const std::string& host, const MetricSample& sample, size_t row, int64_t now_ns);
  void JudgeFall(const std::string& host, const MetricSample& sample, size_t row, int64_t now_ns);
  // Of the rule in that row; nullptr = one too many. A new one is all zeros.
  Counter* CounterOf(const std::string& host, const MetricSample& sample, size_t row, bool* is_new);
  void JudgeCeilings(const std::string& host, const MetricSample& sample, int64_t now_ns);

  std::map<Key, Held> held_;
  std::map<CounterKey, Counter> counters_;
  std::map<std::pair<std::string, std::string>, std::map<Metric, double>> ceilings_;  // host, device: newest values
  uint64_t refused_ = 0;
};

// Both, in the order in which EventJudge::Findings gives them.
std::vector<HardwareFinding> JoinFindings(std::vector<HardwareFinding> some, std::vector<HardwareFinding> others);

// Findings as verdicts: a hard one accuses its machine, a notable one is an observation. The others serve as evidence
// only.
std::vector<Verdict> FindingVerdicts(const std::vector<HardwareFinding>& findings, int64_t now_ns);

// Appends what counters and failing sources say of the culprits' hosts to the evidence of `verdict`, at most three
// sentences. Lines of the kernel log are quoted by EvidenceLog.
void AddCounterFindings(const std::vector<HardwareFinding>& findings, int64_t now_ns, Verdict& verdict);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HARDWARE_EVENT_JUDGE_H_
