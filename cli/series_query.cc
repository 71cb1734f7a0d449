#include "cli/series_query.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/metric_catalog.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr absl::string_view kLabels[] = {"host", "device", "gpu", "job", "rank"};

struct OperatorSpelling {
  absl::string_view text;
  MatchOperator match;
};
// Longer spellings first: "=~" begins with "=".
constexpr OperatorSpelling kOperators[] = {
    {"=~", MatchOperator::kGlob},
    {"!~", MatchOperator::kNotGlob},
    {"!=", MatchOperator::kNotEqual},
    {"=", MatchOperator::kEqual},
};

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// The metric whose name shares the longest beginning with `name`: a hint for a typing error.
absl::string_view NearestMetric(absl::string_view name) {
  absl::string_view nearest;
  size_t longest = 3;
  for (const MetricInfo& info : MetricCatalog()) {
    const auto ends = std::mismatch(name.begin(), name.end(), info.name.begin(), info.name.end());
    const auto common = static_cast<size_t>(ends.first - name.begin());
    if (common > longest) {
      longest = common;
      nearest = info.name;
    }
  }
  return nearest;
}

// A cursor over the text. Not thread-safe.
class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<SeriesQuery> Parse() {
    SeriesQuery query;
    ASSIGN_OR_RETURN(query.metric, ParseMetric());
    if (Accept("{")) {
      while (!Accept("}")) {
        SkipSpace();
        const size_t start = at_;
        ASSIGN_OR_RETURN(LabelMatcher matcher, ParseMatcher());
        RETURN_IF_ERROR(Add(start, std::move(matcher), query));
        if (!Accept(",") && Peek() != '}') return Error("expected , or }");
      }
      if (query.rank.has_value() && !query.job.has_value()) return Error("rank needs a job");
      if (query.gpu.has_value() && query.job.has_value()) return Error("a GPU is named by gpu or by job, not by both");
    }
    SkipSpace();
    if (at_ != text_.size()) return Error("unexpected text after the query");
    return query;
  }

 private:
  absl::StatusOr<std::string> ParseMetric() {
    SkipSpace();
    const size_t start = at_;
    const std::string name = TakeName();
    if (name.empty()) return Error("expected the name of a metric");
    if (FindMetric(absl::string_view(name)) != nullptr) return name;
    at_ = start;
    const absl::string_view nearest = NearestMetric(name);
    return Error(nearest.empty() ? absl::StrCat("unknown metric ", name)
                                 : absl::StrCat("unknown metric ", name, "; did you mean ", nearest, "?"));
  }

  // `start` is where the matcher began, for errors.
  absl::Status Add(size_t start, LabelMatcher matcher, SeriesQuery& query) {
    if (matcher.label == "host" || matcher.label == "device") {
      query.matchers.push_back(std::move(matcher));
      return absl::OkStatus();
    }
    const size_t end = std::exchange(at_, start);
    if (matcher.match != MatchOperator::kEqual) return Error(absl::StrCat(matcher.label, " takes = alone"));
    if (matcher.label == "rank") {
      int32_t rank = -1;
      if (!absl::SimpleAtoi(matcher.pattern, &rank) || rank < 0) return Error("expected the number of a rank");
      query.rank = rank;
    } else {
      (matcher.label == "gpu" ? query.gpu : query.job) = std::move(matcher.pattern);
    }
    at_ = end;
    return absl::OkStatus();
  }

  absl::StatusOr<LabelMatcher> ParseMatcher() {
    LabelMatcher matcher;
    SkipSpace();
    const size_t start = at_;
    matcher.label = TakeName();
    if (std::find(std::begin(kLabels), std::end(kLabels), matcher.label) == std::end(kLabels)) {
      at_ = start;
      return Error(absl::StrCat("expected a label: ", absl::StrJoin(kLabels, ", ")));
    }
    const auto spelling = std::find_if(std::begin(kOperators), std::end(kOperators),
                                       [this](const OperatorSpelling& s) { return Accept(s.text); });
    if (spelling == std::end(kOperators)) return Error("expected =, !=, =~ or !~");
    matcher.match = spelling->match;
    ASSIGN_OR_RETURN(matcher.pattern, ParseQuoted());
    return matcher;
  }

  absl::StatusOr<std::string> ParseQuoted() {
    SkipSpace();
    if (Peek() != '"') return Error("expected a value in double quotes");
    const size_t start = at_++;
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      value.push_back(text_[at_++]);
    }
    if (at_ == text_.size()) {
      at_ = start;
      return Error("this quote is never closed");
    }
    ++at_;
    return value;
  }

  std::string TakeName() {
    const size_t start = at_;
    while (at_ < text_.size() && IsNameCharacter(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  bool Accept(absl::string_view token) {
    SkipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  char Peek() {
    SkipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("query, position ", at_ + 1, ": ", what, "\n  ", text_, "\n  ", std::string(at_, ' '), "^"));
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool LabelMatcher::Matches(absl::string_view value) const {
  switch (match) {
    case MatchOperator::kEqual:
      return value == pattern;
    case MatchOperator::kNotEqual:
      return value != pattern;
    case MatchOperator::kGlob:
      return GlobMatches(pattern, value);
    case MatchOperator::kNotGlob:
      return !GlobMatches(pattern, value);
  }
  return false;
}

bool SeriesQuery::Matches(absl::string_view host, absl::string_view device) const {
  return std::all_of(matchers.begin(), matchers.end(), [&](const LabelMatcher& matcher) {
    return matcher.Matches(matcher.label == "host" ? host : device);
  });
}

std::optional<std::string> SeriesQuery::ExactValue(absl::string_view label) const {
  for (const LabelMatcher& matcher : matchers) {
    if (matcher.label == label && matcher.match == MatchOperator::kEqual) return matcher.pattern;
  }
  return std::nullopt;
}

absl::StatusOr<SeriesQuery> ParseSeriesQuery(absl::string_view text) { return Parser(text).Parse(); }

bool GlobMatches(absl::string_view pattern, absl::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = absl::string_view::npos;  // last * in the pattern, to come back to with one more character swallowed
  size_t swallowed = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t]))) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      swallowed = t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++swallowed;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace lockstep
