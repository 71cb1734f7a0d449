// What a sign of a machine means for the job: whether a fault looks so, whether it came when the job began to be
// degraded, and what it therefore counts. docs/counters.md has the reasons.
//
// One look at a time: Begin says what is known at that moment, and the answers are about it until the next one. What
// Look points to must live until then. Not thread-safe.

#ifndef LOCKSTEP_DETECTOR_COUNTERS_SIGN_MEANING_H_
#define LOCKSTEP_DETECTOR_COUNTERS_SIGN_MEANING_H_

#include <cstdint>
#include <vector>

#include "detector/counters/job_activity.h"
#include "detector/counters/load_chance.h"
#include "detector/counters/metric_watch.h"
#include "detector/counters/suspects.h"

namespace lockstep {

// Between a sign and what it has to do with: three readings of a metric that is read every 15 s.
inline constexpr int64_t kTogetherMs = 45'000;
// Around the moment at which the job got stuck: operations under way, and steps of up to 8 s, are over by then.
inline constexpr int64_t kCoincidenceMs = 9000;
// Share of the evidence from which a machine counts as gone somewhere: at half, chance is as far as a fault.
inline constexpr double kDeviating = 0.5;
// From which a metric adds to the pool: it is listed from there on, as PeerGroup::kWorthMention.
inline constexpr double kCounted = 0.3;
// A job that hangs has a cause: Llama 3 (arXiv 2407.21783, table 5) was interrupted 419 times in 54 days on 2,048
// machines, some 40 times in 10,000 machine-days, so that one hang in 40 may accuse wrongly for a budget of 1e-4.
inline constexpr double kHangsPerMachineDay = 0.004;

// What was found against a machine before.
struct MachineBlame {
  int64_t broken_ms = 0;        // when a device of it was last enough to accuse it; 0 = never
  int64_t broken_onset_ms = 0;  // when that began
  int64_t accused_ms = 0;       // when it last was, whatever for; 0 = never
};

class SignMeaning {
 public:
  struct Look {
    const std::vector<MetricWatch>* watches = nullptr;
    const std::vector<MachineBlame>* machines = nullptr;  // by host; may change during the look
    const JobActivity* activity = nullptr;
    const LoadChance* loads = nullptr;
    double series_per_machine = 1;
    double false_alarms_per_machine_day = 1e-4;
    double fastest_tick_seconds = 1;
    bool degraded = false;  // the job is
    int64_t now_ms = 0;
  };

  // Of a sign, for its machine.
  struct Meaning {
    bool may_degrade = false;        // it may be what degrades the job
    bool hard = false;               // of a device, in the direction that faults have
    bool since_degradation = false;  // it counts for what changed since the job is slower
    double weight = 0;               // what it counts, in alarms
  };

  // `signs`: all of the moment; of them the owner may drop some that mean nothing before asking for meanings.
  void Begin(const Look& look, const std::vector<CounterSign>* signs);

  Meaning Of(const CounterSign& sign) const;

  bool IsIdle(const CounterSign& sign) const;
  bool IsTimely(const CounterSign& sign) const;
  bool InSums(const CounterSign& sign) const;
  bool StoppedFirst(const CounterSign& sign) const;
  double ShareSinceDegradation(const CounterSign& sign) const;

 private:
  const MetricWatch& watch(int32_t index) const { return (*look_.watches)[static_cast<size_t>(index)]; }
  double MachineCount() const { return static_cast<double>(look_.machines->size()); }

  bool IsHard(const CounterSign& sign, bool may_degrade) const;
  bool IsExplained(const CounterSign& sign) const;
  bool IsNoChance(const CounterSign& sign) const;
  double WrongPerDegradation() const;
  double EvidenceAtDegradation(const CounterSign& sign) const;
  double ShareAtDegradation(const CounterSign& sign) const;
  bool HasCulprit(int32_t beside_host) const;
  void FindSuspects();
  bool StoppedBefore(const CounterSign& sign) const;
  double WeightOf(const CounterSign& sign, const Meaning& meaning) const;

  Look look_;
  const std::vector<CounterSign>* signs_ = nullptr;
  double stuck_factor_ = 1;    // what a sign that began with a hang counts more
  Suspects suspects_;          // by devices that changed about when the job began to be degraded
  int64_t first_stop_ms_ = 0;  // of what surely stopped before the job hung; 0 = nothing did
};

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_COUNTERS_SIGN_MEANING_H_
