// What an agent answers to a demand for a profile, as the collector and the command line read it. An agent may send
// anything: what is accepted has shares that are shares, and can be compared and told of.
//
// Input: the number of bytes of the first answer (2, little-endian), that one, and a second one.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "detector/patterns/profile_diagnosis.h"
#include "detector/patterns/rank_patterns.h"
#include "detector/verdict/verdict.h"
#include "formats/pattern_message.h"
#include "proto/patterns.pb.h"

namespace lockstep {
namespace {

void CheckPatterns(const RankPatterns& patterns) {
  CHECK(patterns.window_seconds > 0 && std::isfinite(patterns.window_seconds));
  CHECK(patterns.idle >= 0 && patterns.idle < 1.001 && patterns.steps >= 0);
  CHECK(std::isfinite(patterns.left_out.beta) && std::isfinite(patterns.left_out.event_seconds));
  for (const FunctionPattern& function : patterns.functions) {
    CHECK(function.beta >= 0 && function.beta < 1.001);
    for (const double value : {function.calls_per_second, function.mean_seconds, function.spread, function.mu}) {
      CHECK(std::isfinite(value) && value >= 0);
    }
    CHECK(function.name.size() <= kMostFunctionNameBytes);
  }
}

void Run(const std::vector<std::string>& answers) {
  std::vector<ProfiledRank> ranks;
  for (const std::string& answer : answers) {
    wire::RankProfile profile;
    absl::StatusOr<RankPatterns> patterns = ParseProfile(answer, profile);
    CHECK(patterns.ok() || !patterns.status().message().empty());
    if (!patterns.ok()) continue;
    CheckPatterns(*patterns);
    wire::RankProfile again;
    FillProfile(*patterns, again);
    CHECK(ReadProfile(again).ok());
    for (int i = 0; i < 3; ++i) {  // enough to be compared
      ProfiledRank& rank = ranks.emplace_back(ProfiledRank{.patterns = *patterns, .pid = profile.pid()});
      rank.patterns.rank = static_cast<int32_t>(ranks.size());
      rank.patterns.host = absl::StrCat("node-", ranks.size() / 2);
    }
  }
  const JobReport report = DiagnoseProfiles("job", ranks);
  CHECK(report.ranks == static_cast<int32_t>(ranks.size()));
  for (const Verdict& verdict : report.verdicts) {
    CHECK(!verdict.evidence.empty() && !CauseKey(verdict).empty() && !ToJsonLine(verdict).empty());
    CHECK(std::isfinite(verdict.cost.slowdown_fraction) && std::isfinite(verdict.cost.seconds_per_step));
  }
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t first = std::min<size_t>(bytes.size(), data[0] + (size_t{data[1]} << 8));
  lockstep::Run({bytes.substr(0, first), bytes.substr(first)});
  return 0;
}
