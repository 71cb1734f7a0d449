#include "eval/live/conclusion_timeline.h"

#include <set>

namespace lockstep {

void ConclusionTimeline::AddState(int64_t now_ns, const JobSummary& summary) {
  if (!states_.empty() && states_.back().state == summary.state) return;
  if (states_.size() < kMaxSpells) {
    states_.push_back({now_ns, summary.state, summary.note});
  } else {
    ++dropped_;
  }
}

void ConclusionTimeline::Add(int64_t now_ns, const JobEngine::Conclusion& conclusion, const JobSummary& summary) {
  AddState(now_ns, summary);
  std::set<std::string> seen;
  for (const Verdict& verdict : conclusion.verdicts) {
    std::string key = CauseKey(verdict);
    seen.insert(key);
    const auto present = present_.find(key);
    if (present != present_.end()) {
      spells_[present->second].newest = verdict;
    } else if (spells_.size() < kMaxSpells) {
      present_.emplace(key, spells_.size());
      spells_.push_back({.key = key, .first = verdict, .newest = verdict, .appeared_ns = now_ns});
    } else {
      ++dropped_;
    }
  }
  if (!conclusion.can_conclude) return;
  for (auto cause = present_.begin(); cause != present_.end();) {
    if (seen.count(cause->first) > 0) {
      ++cause;
      continue;
    }
    spells_[cause->second].vanished_ns = now_ns;
    cause = present_.erase(cause);
  }
}

}  // namespace lockstep
