#include "cli/incident_follower.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockstep {
namespace {

wire::Incident MakeIncident(uint64_t id, const std::vector<std::pair<const char*, int64_t>>& transitions) {
  wire::Incident incident;
  incident.set_id(id);
  for (const auto& [what, wall_ns] : transitions) {
    wire::Incident::Transition* transition = incident.add_transitions();
    transition->set_what(what);
    transition->set_wall_ns(wall_ns);
    incident.set_state(std::string(what) == "resolved" ? wire::Incident::STATE_RESOLVED : wire::Incident::STATE_OPEN);
  }
  return incident;
}

// "1 opened, 2 resolved"
std::string Told(IncidentFollower& follower, const std::vector<wire::Incident>& incidents) {
  std::string text;
  for (const FollowedTransition& news : follower.Update(incidents)) {
    if (!text.empty()) text += ", ";
    text += std::to_string(news.incident->id()) + " " + news.transition->what();
  }
  return text;
}

TEST(IncidentFollowerTest, BeginsWithWhatIsOpenNow) {
  IncidentFollower follower;
  EXPECT_EQ(Told(follower, {MakeIncident(1, {{"opened", 10}, {"resolved", 20}}),
                            MakeIncident(2, {{"opened", 5}, {"resolved", 6}, {"reopened", 30}, {"updated", 31}}),
                            MakeIncident(3, {{"opened", 15}})}),
            "3 opened, 2 reopened");
}

TEST(IncidentFollowerTest, TellsEveryTransitionOnceInOrderOfTime) {
  IncidentFollower follower;
  EXPECT_EQ(Told(follower, {}), "");
  const wire::Incident one = MakeIncident(1, {{"opened", 10}});
  EXPECT_EQ(Told(follower, {one}), "1 opened");
  EXPECT_EQ(Told(follower, {one}), "");
  EXPECT_EQ(Told(follower, {MakeIncident(2, {{"opened", 12}, {"resolved", 40}}),
                            MakeIncident(1, {{"opened", 10}, {"updated", 20}, {"resolved", 30}})}),
            "2 opened, 1 updated, 1 resolved, 2 resolved");
}

TEST(IncidentFollowerTest, TransitionsOfOneMomentAreNotLost) {
  IncidentFollower follower;
  follower.Update({});
  EXPECT_EQ(Told(follower, {MakeIncident(1, {{"opened", 10}, {"updated", 10}})}), "1 opened, 1 updated");
  EXPECT_EQ(Told(follower, {MakeIncident(1, {{"opened", 10}, {"updated", 10}, {"resolved", 10}})}), "1 resolved");
  EXPECT_EQ(Told(follower, {MakeIncident(1, {{"opened", 10}, {"updated", 10}, {"resolved", 10}})}), "");
}

TEST(IncidentFollowerTest, SurvivesThatOldTransitionsAreCut) {
  IncidentFollower follower;
  follower.Update({MakeIncident(1, {{"opened", 10}, {"updated", 20}})});
  EXPECT_EQ(Told(follower, {MakeIncident(1, {{"updated", 20}, {"updated", 30}})}), "1 updated");
}

TEST(IncidentFollowerTest, NothingThatHappenedBeforeTheFeedIsRepeatedLater) {
  IncidentFollower follower;
  follower.Update({MakeIncident(1, {{"opened", 10}, {"resolved", 20}})});
  EXPECT_EQ(Told(follower, {MakeIncident(1, {{"opened", 10}, {"resolved", 20}, {"reopened", 30}})}), "1 reopened");
}

}  // namespace
}  // namespace lockstep
