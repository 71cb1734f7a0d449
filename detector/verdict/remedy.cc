#include "detector/verdict/remedy.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockstep {
namespace {

constexpr size_t kShownCulprits = 3;  // what fits into a column of `whatif`; the message has all

struct Action {
  Advice advice;
  const char* before;  // the culprits
  const char* after;
  const char* without_culprits;  // the whole sentence
};

constexpr Action kActions[] = {
    {Advice::kCordonAndReplace, "take ", " out", "replace the slow machine"},
    {Advice::kCheckLink, "mend the network at ", "", "mend the network"},
    {Advice::kCheckSoftware, "mend the software on ", "", "mend the software"},
    {Advice::kRebalance, "give the work of ", " evenly to all", "spread the work evenly"},
    {Advice::kObserve, "watch ", "", "watch the job"},
};

// "node-3", "node-1 - node-2", "rank 7" where no host is known.
std::string PlaceText(const Culprit& culprit) {
  if (culprit.host.empty()) return culprit.rank < 0 ? "" : absl::StrCat("rank ", culprit.rank);
  return culprit.peer_host.empty() ? culprit.host : absl::StrCat(culprit.host, " - ", culprit.peer_host);
}

void AddOnce(std::string name, std::vector<std::string>* names) {
  if (name.empty() || std::find(names->begin(), names->end(), name) != names->end()) return;
  names->push_back(std::move(name));
}

}  // namespace

std::string ActionText(const Remedy& remedy) {
  std::vector<std::string> places;
  for (const Culprit& culprit : remedy.culprits) AddOnce(PlaceText(culprit), &places);
  std::string rest;
  if (places.size() > kShownCulprits) {
    rest = absl::StrCat(" and ", places.size() - kShownCulprits, " more");
    places.resize(kShownCulprits);
  }
  for (const Action& action : kActions) {
    if (action.advice != remedy.advice) continue;
    if (places.empty()) return action.without_culprits;
    return absl::StrCat(action.before, absl::StrJoin(places, ", "), rest, action.after);
  }
  return "nothing is to be done";
}

std::vector<std::string> HostsOf(const Remedy& remedy) {
  std::vector<std::string> hosts;
  for (const Culprit& culprit : remedy.culprits) {
    AddOnce(culprit.host, &hosts);
    AddOnce(culprit.peer_host, &hosts);
  }
  return hosts;
}

}  // namespace lockstep
