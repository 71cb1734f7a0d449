// What was concluded when: each cause from the look at which it appeared to the one at which it was gone, and the
// states of the job.
//
// A cause that is missing while the engine cannot conclude has not gone, as for the collector's incidents. Not
// thread-safe; values are thread-compatible.

#ifndef LOCKSTEP_EVAL_LIVE_CONCLUSION_TIMELINE_H_
#define LOCKSTEP_EVAL_LIVE_CONCLUSION_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "detector/engine/job_engine.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// One cause from appearing to vanishing.
struct CauseSpell {
  static constexpr int64_t kStays = -1;

  std::string key;  // CauseKey
  Verdict first;    // as it appeared
  Verdict newest;
  int64_t appeared_ns = 0;
  int64_t vanished_ns = kStays;
};

// The job was said to be in this state from then on.
struct StateChange {
  int64_t at_ns = 0;
  JobState state = JobState::kUnknown;
  std::string note;  // the reason, as the engine gave it first
};

class ConclusionTimeline {
 public:
  static constexpr size_t kMaxSpells = 10'000;  // and as many changes of state; more are counted

  // Times must rise.
  void Add(int64_t now_ns, const JobEngine::Conclusion& conclusion, const JobSummary& summary);

  const std::vector<CauseSpell>& spells() const { return spells_; }  // by appearance
  const std::vector<StateChange>& states() const { return states_; }
  uint64_t dropped() const { return dropped_; }

 private:
  void AddState(int64_t now_ns, const JobSummary& summary);

  std::vector<CauseSpell> spells_;
  std::vector<StateChange> states_;
  std::map<std::string, size_t> present_;  // cause -> spell
  uint64_t dropped_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_LIVE_CONCLUSION_TIMELINE_H_
