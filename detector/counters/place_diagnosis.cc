#include "detector/counters/place_diagnosis.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "detector/counters/peer_detector.h"
#include "detector/verdict/confidence.h"

namespace lockstep {
namespace {

// Alarms that began together.
using Group = std::vector<const HistoryCase*>;

std::vector<Group> TogetherIn(absl::Span<const HistoryCase* const> cases) {
  Group sorted(cases.begin(), cases.end());
  std::erase_if(sorted, [](const HistoryCase* found) { return found->kind == CaseKind::kSoft || found->only_unseen; });
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const HistoryCase* a, const HistoryCase* b) { return a->onset_ms < b->onset_ms; });
  std::vector<Group> groups;
  for (const HistoryCase* const found : sorted) {
    if (groups.empty() || found->onset_ms > groups.back().back()->onset_ms + kTogetherMs) groups.emplace_back();
    groups.back().push_back(found);
  }
  return groups;
}

// The strongest of those in the place, with the times and the degradation of all of them.
HistoryCase ExampleOf(const Group& group, const PlaceVote& vote) {
  HistoryCase example;
  for (const HistoryCase* const found : group) {
    if (!std::binary_search(vote.deviating.begin(), vote.deviating.end(), found->host)) continue;
    HistoryCase joined = found->score > example.score ? *found : example;
    if (example.host >= 0) {
      joined.onset_ms = std::min(example.onset_ms, found->onset_ms);
      joined.alarm_ms = std::min(example.alarm_ms, found->alarm_ms);
      joined.last_ms = std::max(example.last_ms, found->last_ms);
      joined.job_degraded = example.job_degraded || found->job_degraded;
      joined.job_loss = std::max(example.job_loss, found->job_loss);
    }
    example = std::move(joined);
  }
  return example;
}

HistoryCase ExampleOf(const HistoryShift& shift) {
  return {.host = shift.strongest_host,
          .score = shift.strongest.excursion.share,
          .onset_ms = shift.onset_ms,
          .alarm_ms = shift.onset_ms,
          .last_ms = shift.last_ms,
          .job_degraded = shift.job_degraded,
          .job_loss = shift.job_loss,
          .signs = {shift.strongest}};
}

// A place that several metrics show is one finding, with the degradation of all.
void Add(PlaceFinding finding, std::vector<PlaceFinding>* findings) {
  for (PlaceFinding& known : *findings) {
    if (known.vote.places != finding.vote.places || !known.Explains(finding.example)) continue;
    HistoryCase& example = known.example;
    const HistoryCase& other = finding.example;
    example.onset_ms = std::min(example.onset_ms, other.onset_ms);
    example.last_ms = std::max(example.last_ms, other.last_ms);
    example.job_degraded = example.job_degraded || other.job_degraded;
    example.job_loss = std::max(example.job_loss, other.job_loss);
    if (finding.vote.deviating.size() > known.vote.deviating.size()) known.vote = std::move(finding.vote);
    return;
  }
  findings->push_back(std::move(finding));
}

}  // namespace

bool PlaceFinding::Explains(const HistoryCase& found) const {
  const auto& machines = vote.deviating;
  return std::binary_search(machines.begin(), machines.end(), found.host) &&
         found.onset_ms >= example.onset_ms - kTogetherMs && found.onset_ms <= example.last_ms + kTogetherMs;
}

std::vector<PlaceFinding> FindPlaces(absl::Span<const HistoryCase* const> cases, absl::Span<const HistoryShift> shifts,
                                     absl::Span<const std::string> hosts, const PlaceTable& places) {
  std::vector<PlaceFinding> findings;
  for (const Group& group : TogetherIn(cases)) {
    std::vector<int32_t> deviating;
    for (const HistoryCase* const found : group) deviating.push_back(found->host);
    std::sort(deviating.begin(), deviating.end());
    for (PlaceVote& vote : VoteOnPlaces(places, hosts, deviating)) {
      HistoryCase example = ExampleOf(group, vote);
      Add({std::move(vote), std::move(example)}, &findings);
    }
  }
  for (const HistoryShift& shift : shifts) {
    for (PlaceVote& vote : VoteOnPlaces(places, hosts, shift.hosts)) {
      HistoryCase example = ExampleOf(shift);
      // The strongest of all may stand elsewhere.
      if (!std::binary_search(vote.deviating.begin(), vote.deviating.end(), example.host)) {
        example.host = vote.deviating.front();
        example.signs.clear();
      }
      Add({std::move(vote), std::move(example)}, &findings);
    }
  }
  return findings;
}

void BlamePlace(const PlaceFinding& finding, absl::Span<const std::string> hosts, Verdict* verdict) {
  const PlaceVote& vote = finding.vote;
  if (AccusesNode(*verdict) && vote.places.front().first == PlaceKind::kImage) {
    verdict->scope = VerdictScope::kSoftware;
    verdict->advice = Advice::kCheckSoftware;
  }
  const double confidence = verdict->culprits.empty() ? kLikelyConfidence : verdict->culprits.front().confidence;
  verdict->culprits.clear();
  for (const int32_t host : vote.deviating) {
    verdict->culprits.push_back({.host = hosts[static_cast<size_t>(host)], .confidence = confidence});
  }
  verdict->evidence.insert(verdict->evidence.begin(),
                           {EvidenceKind::kCounter, PlaceStandsOut{.places = vote.places,
                                                                   .deviating = vote.deviating.size(),
                                                                   .machines = vote.members,
                                                                   .deviating_elsewhere = vote.deviating_elsewhere,
                                                                   .machines_elsewhere = vote.machines_elsewhere,
                                                                   .chance = vote.chance}});
}

}  // namespace lockstep
