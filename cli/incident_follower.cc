#include "cli/incident_follower.h"

#include <algorithm>
#include <utility>

namespace lockstep {
namespace {

bool IsOpening(const wire::Incident::Transition& transition) {
  const std::string& what = transition.what();
  return what == "suspected" || what == "opened" || what == "reopened";
}

// The transition that opened an incident last; nullptr if it has been cut from the list.
const wire::Incident::Transition* NewestOpening(const wire::Incident& incident) {
  const wire::Incident::Transition* newest = nullptr;
  for (const wire::Incident::Transition& transition : incident.transitions()) {
    if (IsOpening(transition)) newest = &transition;
  }
  return newest;
}

}  // namespace

void IncidentFollower::Advance(const wire::Incident& incident, bool tell, std::vector<FollowedTransition>& news) {
  Mark& mark = marks_[incident.id()];
  const Mark before = mark;
  int at_before = 0;
  for (const wire::Incident::Transition& transition : incident.transitions()) {
    if (transition.wall_ns() < before.wall_ns) continue;
    if (transition.wall_ns() == before.wall_ns && ++at_before <= before.told_at_wall_ns) continue;
    if (tell) news.push_back({&incident, &transition});
    mark.told_at_wall_ns = transition.wall_ns() == mark.wall_ns ? mark.told_at_wall_ns + 1 : 1;
    mark.wall_ns = transition.wall_ns();
  }
}

std::vector<FollowedTransition> IncidentFollower::Update(const std::vector<wire::Incident>& incidents) {
  std::vector<FollowedTransition> news;
  for (const wire::Incident& incident : incidents) {
    Advance(incident, /*tell=*/!first_, news);
    if (!first_ || incident.state() != wire::Incident::STATE_OPEN) continue;
    if (const wire::Incident::Transition* opening = NewestOpening(incident)) news.push_back({&incident, opening});
  }
  first_ = false;
  while (marks_.size() > kMaxIncidents) marks_.erase(marks_.begin());
  std::stable_sort(news.begin(), news.end(), [](const FollowedTransition& a, const FollowedTransition& b) {
    return std::make_pair(a.transition->wall_ns(), a.incident->id()) <
           std::make_pair(b.transition->wall_ns(), b.incident->id());
  });
  return news;
}

}  // namespace lockstep
