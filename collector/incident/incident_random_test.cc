// What holds of incidents whatever the detector says.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "collector/incident/incident_book_fixture.h"
#include "collector/incident/incident_state.h"

namespace lockstep {
namespace {

// What must hold whatever the detector says, checked from the events alone.
class EventChecker {
 public:
  void See(const IncidentEvent& event, int64_t wall_ns) {
    const wire::Incident& incident = event.incident;
    const std::pair<std::string, std::string> cause{incident.job(), incident.key()};
    const bool open = incident.state() == wire::Incident::STATE_OPEN;
    EXPECT_EQ(open, event.kind != Kind::kResolved);
    EXPECT_EQ(open, incident.resolved_wall_ns() == 0);
    EXPECT_EQ(incident.updated_wall_ns(), wall_ns);
    EXPECT_LE(incident.transitions_size(), kMaxTransitions);
    switch (event.kind) {
      case Kind::kOpened:
        EXPECT_TRUE(ids_.insert(incident.id()).second) << "id " << incident.id() << " was used before";
        EXPECT_TRUE(open_.emplace(cause, incident.id()).second) << "two open incidents of one cause";
        break;
      case Kind::kReopened:
        EXPECT_TRUE(ids_.contains(incident.id()));
        EXPECT_GT(incident.reopened(), 0u);
        EXPECT_TRUE(open_.emplace(cause, incident.id()).second) << "reopened while open";
        break;
      case Kind::kUpdated:
      case Kind::kAcknowledged:
      case Kind::kNoted:
        EXPECT_EQ(open_.at(cause), incident.id());
        break;
      case Kind::kResolved:
        EXPECT_EQ(open_.at(cause), incident.id());
        open_.erase(cause);
        break;
    }
    newest_[incident.id()] = incident;
  }

  size_t open() const { return open_.size(); }
  size_t opened_ever() const { return ids_.size(); }

  // What a store would hold.
  std::vector<wire::Incident> Stored() const {
    std::vector<wire::Incident> stored;
    for (const auto& [id, incident] : newest_) stored.push_back(incident);
    return stored;
  }

 private:
  std::set<uint64_t> ids_;
  std::map<std::pair<std::string, std::string>, uint64_t> open_;
  std::map<uint64_t, wire::Incident> newest_;
};

JobEngine::Conclusion RandomConclusion(Random& random) {
  if (random.Below(5) == 0) return NothingKnown();
  std::vector<Verdict> verdicts;
  for (int32_t rank = 0; rank < 4; ++rank) {
    if (random.Below(3) == 0) continue;
    verdicts.push_back(
        Hang(rank, random.Below(2) == 0 ? VerdictClass::kHangNotEntered : VerdictClass::kHangInCommunication));
    verdicts.back().cost.seconds_per_step = random.Unit();
  }
  return Concluded(std::move(verdicts));
}

class RandomConclusionsTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomConclusionsTest, InvariantsHoldAndHealthResolvesEverything) {
  Random random(GetParam());
  uint64_t last_id = 0;
  const auto next_id = [&last_id] { return ++last_id; };
  const IncidentBookOptions options{.reopen_within_ns = 20 * kSecond, .update_every_ns = 2 * kSecond};
  IncidentBook book(options, next_id);
  EventChecker checker;
  int64_t now = kStart;
  const std::vector<std::string> jobs = {"a", "b"};
  for (int step = 0; step < 2'000; ++step) {
    now += static_cast<int64_t>(random.Below(4 * kSecond));
    const std::string& job = jobs[random.Below(jobs.size())];
    if (random.Below(100) == 0) {  // the collector restarts
      book = IncidentBook(options, next_id);
      book.Restore(checker.Stored());
    }
    const auto events = random.Below(50) == 0 ? book.EndJob(job, now, wire::Incident::RESOLUTION_JOB_ENDED, "ended")
                                              : book.Apply(job, RandomConclusion(random), now);
    for (const IncidentEvent& event : events) checker.See(event, now);
    EXPECT_TRUE(book.Tick(now).empty()) << "nothing is silenced, folded or in maintenance";
  }
  EXPECT_GT(checker.opened_ever(), 1u);
  for (int step = 0; step < 3; ++step) {
    now += options.flap_quiet_ns;  // some came and went that often
    for (const std::string& job : jobs) {
      for (const IncidentEvent& event : book.Apply(job, Concluded({}), now)) checker.See(event, now);
    }
  }
  EXPECT_EQ(checker.open(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomConclusionsTest, ::testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace lockstep
