// What somebody types behind `lockstep history`: a query that means what it says, or an error that shows where.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "cli/series_query.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto query = lockstep::ParseSeriesQuery(text);
  if (!query.ok()) {
    CHECK(absl::StrContains(query.status().message(), "position "));
    return 0;
  }
  CHECK(!query->metric.empty());
  for (const lockstep::LabelMatcher& matcher : query->matchers) {
    CHECK(matcher.label == "host" || matcher.label == "device");
    if (matcher.match == lockstep::MatchOperator::kEqual) CHECK(matcher.Matches(matcher.pattern));
    CHECK(lockstep::GlobMatches("*", matcher.pattern));
  }
  const std::string host = query->ExactValue("host").value_or("node-1");
  const std::string device = query->ExactValue("device").value_or("");
  query->Matches(host, device);
  return 0;
}
