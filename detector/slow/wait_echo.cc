#include "detector/slow/wait_echo.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "base/shares.h"

namespace lockstep {
namespace {

constexpr int32_t kOnsetSteps = 1;  // an onset is known to a step
// The middle of the echoes. By judgement, not measured.
constexpr double kFarAbove = 2;

class EchoSearch {
 public:
  EchoSearch(const Trace& trace, const OperationInstances& matched, const std::vector<Suspect>& suspects)
      : trace_(trace), matched_(matched), suspects_(suspects) {
    for (size_t i = 0; i < suspects.size(); ++i) place_of_rank_[suspects[i].rank] = i;
  }

  void Listen(const SlowChannel& slow) {
    const OperationChannel& channel = matched_.channels[static_cast<size_t>(slow.channel)];
    if (!channel.collective()) return ListenBeside(channel, slow.first_step);
    const std::vector<int32_t>& members = trace_.communicators[static_cast<size_t>(channel.communicator)].members;
    std::vector<size_t> places;
    for (const int32_t member : members) {
      const auto found = place_of_rank_.find(member);
      if (found == place_of_rank_.end()) continue;
      if (suspects_[found->second].first_step >= slow.first_step - kOnsetSteps) places.push_back(found->second);
    }
    if (2 * places.size() <= members.size()) return;
    // Suspects come strongest first, so that their places are in order of their excess.
    std::sort(places.begin(), places.end());
    const double middle = suspects_[places[places.size() / 2]].excess_seconds;
    std::erase_if(places, [&](size_t place) { return suspects_[place].excess_seconds >= kFarAbove * middle; });
    if (places.size() < 2) return;  // who waits for the same is late by about the same
    for (const size_t place : places) echoes_.insert(suspects_[place].rank);
  }

  const std::set<int32_t>& echoes() const { return echoes_; }

 private:
  // Who gets the data waits in its Recv, and others of its host for it, in a group that nobody recorded.
  void ListenBeside(const OperationChannel& channel, int32_t first_step) {
    const int32_t receiver = trace_.communicators[static_cast<size_t>(channel.communicator)]
                                 .members[static_cast<size_t>(channel.destination)];
    if (receiver < 0 || place_of_rank_.contains(receiver)) return;
    const auto host_of = [this](int32_t rank) { return trace_.ranks[static_cast<size_t>(rank)].host; };
    std::vector<const Suspect*> beside;
    for (const Suspect& suspect : suspects_) {
      const bool since_then = suspect.first_step >= first_step - kOnsetSteps;
      if (since_then && host_of(suspect.rank) == host_of(receiver)) beside.push_back(&suspect);
    }
    if (beside.size() < 2) return;
    // They wait for the same; work differs by more.
    if (beside.back()->excess_seconds < kAllButFew * beside.front()->excess_seconds) return;
    for (const Suspect* suspect : beside) echoes_.insert(suspect->rank);
  }

  const Trace& trace_;
  const OperationInstances& matched_;
  const std::vector<Suspect>& suspects_;
  absl::flat_hash_map<int32_t, size_t> place_of_rank_;
  std::set<int32_t> echoes_;  // ranks
};

}  // namespace

void DropWaitEchoes(const Trace& trace, const OperationInstances& matched, const std::vector<SlowTransfers>& transfers,
                    std::vector<Suspect>* suspects) {
  EchoSearch search(trace, matched, *suspects);
  for (const SlowTransfers& together : transfers) {
    for (const SlowChannel& slow : together.channels) search.Listen(slow);
  }
  std::erase_if(*suspects, [&](const Suspect& suspect) { return search.echoes().contains(suspect.rank); });
}

}  // namespace lockstep
