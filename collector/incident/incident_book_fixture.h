// A book of incidents under test, and what a detector would tell it. Not thread-safe.

#ifndef LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_BOOK_FIXTURE_H_
#define LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_BOOK_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collector/incident/incident_book.h"

namespace lockstep {

using Kind = IncidentEvent::Kind;
inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr int64_t kStart = 1'000 * kSecond;
inline constexpr int64_t kLater = 1'000'000 * kSecond;  // than all that a test resolves

inline Verdict Hang(int32_t rank, VerdictClass verdict_class = VerdictClass::kHangNotEntered) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kMachine, verdict_class);
  verdict.culprits = {Culprit{.host = "node-1", .rank = rank, .confidence = 0.9}};
  verdict.evidence = {{EvidenceKind::kProgress, InputNote{"rank has not entered operation 7"}}};
  verdict.advice = Advice::kObserve;
  verdict.last_seen_ns = kLater;
  return verdict;
}

inline JobEngine::Conclusion Concluded(std::vector<Verdict> verdicts) {
  return {.verdicts = std::move(verdicts), .can_conclude = true, .has_judged = true};
}
// By an engine that is too new to have judged everything.
inline JobEngine::Conclusion NotYetJudged(std::vector<Verdict> verdicts) {
  return {.verdicts = std::move(verdicts), .can_conclude = true, .has_judged = false};
}
inline JobEngine::Conclusion NothingKnown() { return {{}, false}; }

inline std::vector<Kind> KindsOf(const std::vector<IncidentEvent>& events) {
  std::vector<Kind> kinds;
  for (const IncidentEvent& event : events) kinds.push_back(event.kind);
  return kinds;
}

inline std::vector<std::string> WhatsOf(const wire::Incident& incident) {
  std::vector<std::string> whats;
  for (const auto& transition : incident.transitions()) whats.push_back(transition.what());
  return whats;
}

class IncidentBookTest : public ::testing::Test {
 protected:
  IncidentBook NewBook(IncidentBookOptions options = {}) {
    return IncidentBook(options, [this] { return ++last_id_; });
  }

  uint64_t last_id_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_INCIDENT_INCIDENT_BOOK_FIXTURE_H_
