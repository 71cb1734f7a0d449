#include "eval/metamorphic/renaming.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/shuffle.h"
#include "detector/model/place_table.h"
#include "detector/model/trace.h"
#include "detector/verdict/verdict.h"
#include "eval/metamorphic/reread.h"
#include "formats/trace_collection.h"

namespace lockstep {
namespace {

constexpr char kStandIn[] = "unknown-host-of-rank-";

std::set<std::string> HostsOf(const JobEvidence& recording) {
  std::set<std::string> hosts(recording.trace.hosts.begin(), recording.trace.hosts.end());
  hosts.insert(recording.metrics.hosts.begin(), recording.metrics.hosts.end());
  for (const HostEvent& event : recording.events) hosts.insert(event.host);
  for (const auto& [host, places] : recording.places.of_host) hosts.insert(host);
  std::erase_if(hosts, [](const std::string& host) { return host.empty() || IsStandInHost(host); });
  return hosts;
}

std::set<std::string> CommunicatorsOf(const JobEvidence& recording) {
  std::set<std::string> names;
  for (const TraceCommunicator& communicator : recording.trace.communicators) names.insert(communicator.name);
  return names;
}

// `prefix` and a number, in the order of `old_names`, or in a random one.
void Invent(const std::set<std::string>& old_names, absl::string_view prefix, Random* random,
            std::map<std::string, std::string>* names) {
  std::vector<std::string> invented;
  for (size_t i = 0; i < old_names.size(); ++i) invented.push_back(absl::StrFormat("%sx%06dx", prefix, i));
  if (random != nullptr) Shuffle(*random, &invented);
  size_t next = 0;
  for (const std::string& old_name : old_names) (*names)[old_name] = invented[next++];
}

Renaming Draw(const JobEvidence& recording, Random* random) {
  Renaming renaming;
  Invent(HostsOf(recording), "host", random, &renaming.names);
  Invent(CommunicatorsOf(recording), "comm", random, &renaming.names);
  if (!recording.job.empty()) renaming.names[recording.job] = "jobx0x";
  return renaming;
}

template <typename Key>
std::map<Key, Key> Inverse(const std::map<Key, Key>& map) {
  std::map<Key, Key> inverse;
  for (const auto& [from, to] : map) inverse[to] = from;
  return inverse;
}

// Both directions alike.
class Words {
 public:
  Words(std::map<std::string, std::string> names, std::map<int32_t, int32_t> ranks)
      : names_(std::move(names)), ranks_(std::move(ranks)) {}

  std::string Name(const std::string& name) const {
    int32_t rank = 0;
    if (absl::StartsWith(name, kStandIn) && absl::SimpleAtoi(name.substr(sizeof(kStandIn) - 1), &rank)) {
      return absl::StrCat(kStandIn, Rank(rank));
    }
    const auto known = names_.find(name);
    return known == names_.end() ? name : known->second;
  }

  int32_t Rank(int32_t rank) const {
    const auto known = ranks_.find(rank);
    return known == ranks_.end() ? rank : known->second;
  }

  // Word by word; numbers behind "rank" or "ranks" are ranks.
  std::string Text(absl::string_view text) const {
    std::string result;
    std::string before;  // the latest word
    for (size_t at = 0; at < text.size();) {
      if (!IsPartOfWord(text[at])) {
        result.push_back(text[at++]);
        continue;
      }
      if (absl::EqualsIgnoreCase(before, "rank") || absl::EqualsIgnoreCase(before, "ranks")) {
        const size_t end = EndOfRanks(text, at);
        if (end > at) {
          absl::StrAppend(&result, RankList(text.substr(at, end - at), text.substr(end)));
          at = end;
          before.clear();
          continue;
        }
      }
      size_t end = at;
      while (end < text.size() && IsPartOfWord(text[end])) ++end;
      while (end > at + 1 && (text[end - 1] == '.' || text[end - 1] == ':')) --end;
      before = std::string(text.substr(at, end - at));
      absl::StrAppend(&result, Name(before));
      at = end;
    }
    return result;
  }

 private:
  static bool IsPartOfWord(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == ':';
  }

  // Behind "3", "3, 5, 9"; `at` where no number is.
  static size_t EndOfRanks(absl::string_view text, size_t at) {
    size_t end = at;
    while (true) {
      size_t digits = end > at ? end + 2 : end;
      if (end > at && !absl::StartsWith(text.substr(end), ", ")) return end;
      const size_t first = digits;
      while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
      if (digits == first) return end;
      end = digits;
    }
  }

  std::string RankList(absl::string_view list, absl::string_view rest) const {
    std::vector<int32_t> ranks;
    for (size_t at = 0; at < list.size();) {
      size_t end = at;
      while (end < list.size() && list[end] != ',') ++end;
      int32_t rank = 0;
      if (absl::SimpleAtoi(list.substr(at, end - at), &rank)) ranks.push_back(Rank(rank));
      at = end + 2;
    }
    // The first of many depend on their numbers.
    if (absl::StartsWith(rest, " and ") && rest.find(" more") < sizeof(" and 1000000")) return "...";
    std::sort(ranks.begin(), ranks.end());
    return absl::StrJoin(ranks, ", ");
  }

  std::map<std::string, std::string> names_;
  std::map<int32_t, int32_t> ranks_;
};

void RenameRanks(const Words& words, Trace* trace) {
  for (TraceRank& rank : trace->ranks) rank.rank = words.Rank(rank.rank);
  for (int32_t& rank : trace->missing_ranks) rank = words.Rank(rank);
  std::sort(trace->missing_ranks.begin(), trace->missing_ranks.end());
}

}  // namespace

Renaming RenamingInOrder(const JobEvidence& recording) { return Draw(recording, nullptr); }

Renaming RandomRenaming(const JobEvidence& recording, Random& random) {
  Renaming renaming = Draw(recording, &random);
  std::vector<int32_t> numbers = recording.trace.missing_ranks;
  for (const TraceRank& rank : recording.trace.ranks) numbers.push_back(rank.rank);
  std::vector<int32_t> dealt = numbers;
  Shuffle(random, &dealt);
  for (size_t i = 0; i < numbers.size(); ++i) renaming.ranks[numbers[i]] = dealt[i];
  return renaming;
}

JobEvidence Renamed(const JobEvidence& recording, const Renaming& renaming) {
  const Words words(renaming.names, renaming.ranks);
  JobEvidence renamed = recording;
  renamed.job = renamed.trace.job = renamed.metrics.job = words.Name(recording.job);
  for (std::string& host : renamed.trace.hosts) host = words.Name(host);
  for (std::string& host : renamed.metrics.hosts) host = words.Name(host);
  for (TraceCommunicator& communicator : renamed.trace.communicators) communicator.name = words.Name(communicator.name);
  for (HostEvent& event : renamed.events) event.host = words.Name(event.host);
  renamed.places = {};
  for (const auto& [host, places] : recording.places.of_host) renamed.places.of_host[words.Name(host)] = places;
  RenameRanks(words, &renamed.trace);
  return Reread(renamed);
}

JobReport NamedBack(JobReport report, const Renaming& renaming) {
  const Words words(Inverse(renaming.names), Inverse(renaming.ranks));
  report.job = words.Name(report.job);
  for (int32_t& rank : report.completeness.missing_ranks) rank = words.Rank(rank);
  std::sort(report.completeness.missing_ranks.begin(), report.completeness.missing_ranks.end());
  for (Verdict& verdict : report.verdicts) {
    for (Culprit& culprit : verdict.culprits) {
      culprit.host = words.Name(culprit.host);
      culprit.peer_host = words.Name(culprit.peer_host);
      culprit.rank = words.Rank(culprit.rank);
    }
    for (Evidence& evidence : verdict.evidence) evidence.reason = InputNote{words.Text(evidence.text())};
  }
  for (LedgerLine& line : report.ledger.lines) line.finding = words.Text(line.finding);
  return report;
}

}  // namespace lockstep
