#include "detector/patterns/pattern_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

constexpr double kSecondsPerNano = 1e-9;  // a unit
constexpr char kOtherFunctions[] = "(further functions)";
constexpr int64_t kLongestPieceNanos = std::numeric_limits<uint32_t>::max();

// Of squares and a sum: never negative, whatever rounding does.
double Deviation(double squares, double mean, double weight) {
  return std::sqrt(std::max(0.0, squares / weight - mean * mean));
}

}  // namespace

PatternBuilder::PatternBuilder(const PatternLimits& limits) : limits_(limits) {}

uint32_t PatternBuilder::Function(FunctionKind kind, absl::string_view name, Utilisation utilisation) {
  name = name.substr(0, kMostFunctionNameBytes);
  std::string key = absl::StrCat(absl::string_view("0123456789").substr(static_cast<size_t>(kind), 1), name);
  const auto known = function_by_name_.find(key);
  if (known != function_by_name_.end()) return known->second;
  // The last places are for what stands for all others of a kind.
  if (functions_.size() + kFunctionKinds >= limits_.functions && name != kOtherFunctions) {
    return Function(kind, kOtherFunctions, Utilisation::kNone);
  }
  const auto number = static_cast<uint32_t>(functions_.size());
  Sums sums;
  sums.kind = kind;
  sums.group = GroupOf(kind, name);
  sums.utilisation = utilisation;
  sums.name = std::string(name);
  functions_.push_back(std::move(sums));
  function_by_name_.emplace(std::move(key), number);
  return number;
}

void PatternBuilder::Add(const FunctionCall& call) {
  if (!has_zero_) {
    has_zero_ = true;
    zero_ns_ = first_ns_ = last_ns_ = call.begin_ns;
  }
  ++calls_;
  const int64_t begin_ns = call.begin_ns - zero_ns_;
  if (std::abs(begin_ns) > kMostEventNanos || call.duration_ns < 0 || call.duration_ns > kMostEventNanos) {
    ++left_out_.events;
    return;
  }
  Sums& sums = functions_[call.function];
  const double seconds = static_cast<double>(call.duration_ns) * kSecondsPerNano;
  ++sums.calls;
  sums.seconds += seconds;
  sums.squares += seconds * seconds;
  if (sums.name == kOtherFunctions) ++left_out_.unnamed_calls;
  if (sums.utilisation != Utilisation::kNone && call.utilisation > 0) {
    sums.weight += seconds;
    sums.used += seconds * call.utilisation;
    sums.used_squares += seconds * call.utilisation * call.utilisation;
  }
  const uint64_t lane = lanes_.NumberOf(call.lane);
  lanes_.AddCall(lane, sums.kind, sums.group);
  first_ns_ = std::min(first_ns_, call.begin_ns);
  last_ns_ = std::max(last_ns_, call.begin_ns + call.duration_ns);
  // Long calls are kept in pieces, which follow one another.
  for (int64_t done_ns = 0; done_ns < call.duration_ns; done_ns += kLongestPieceNanos) {
    PathEvent event;
    event.begin_ns = begin_ns + done_ns;
    event.duration_ns = static_cast<uint32_t>(std::min(kLongestPieceNanos, call.duration_ns - done_ns));
    event.lane = lane;
    event.function = call.function;
    Keep(event);
  }
}

void PatternBuilder::AddStep(uint64_t lane, int64_t begin_ns, int64_t duration_ns) {
  if (duration_ns < 0 || duration_ns > kMostEventNanos) return;
  lanes_.AddStep(lanes_.NumberOf(lane));
  const int64_t end_ns = begin_ns + duration_ns;
  first_step_ns_ = steps_ == 0 ? begin_ns : std::min(first_step_ns_, begin_ns);
  last_step_ns_ = steps_ == 0 ? end_ns : std::max(last_step_ns_, end_ns);
  if (steps_ < std::numeric_limits<int32_t>::max()) ++steps_;
}

void PatternBuilder::Keep(PathEvent event) {
  if (event.duration_ns < shortest_kept_ns_) {
    ++left_out_.events;
    left_out_.event_seconds += static_cast<double>(event.duration_ns) * kSecondsPerNano;
    return;
  }
  if (events_.size() == limits_.events) ForgetShort();
  events_.push_back(event);
}

// The shorter half goes.
void PatternBuilder::ForgetShort() {
  const auto middle = events_.begin() + static_cast<std::ptrdiff_t>(events_.size() / 2);
  std::nth_element(events_.begin(), middle, events_.end(),
                   [](const PathEvent& a, const PathEvent& b) { return a.duration_ns > b.duration_ns; });
  for (auto event = middle; event != events_.end(); ++event) {
    ++left_out_.events;
    left_out_.event_seconds += static_cast<double>(event->duration_ns) * kSecondsPerNano;
  }
  shortest_kept_ns_ = std::max(shortest_kept_ns_, middle->duration_ns);
  events_.erase(middle, events_.end());
}

std::vector<PathFunction> PatternBuilder::PathFunctions() const {
  std::vector<PathFunction> path(functions_.size());
  for (size_t i = 0; i < functions_.size(); ++i) {
    const Sums& sums = functions_[i];
    path[i].priority = static_cast<uint8_t>(PriorityOf(sums.kind));
    path[i].takes_calls = TraitsOf(sums.group).takes_calls;
    path[i].gives_calls = IsOfHost(sums.kind) && sums.kind != FunctionKind::kRuntime && !path[i].takes_calls;
  }
  return path;
}

FunctionPattern PatternBuilder::PatternOf(const Sums& sums, double beta, double window_seconds) const {
  FunctionPattern pattern;
  pattern.kind = sums.kind;
  pattern.name = sums.name;
  pattern.beta = beta;
  if (sums.calls == 0) return pattern;
  const auto calls = static_cast<double>(sums.calls);
  pattern.calls_per_second = calls / window_seconds;
  pattern.mean_seconds = sums.seconds / calls;
  if (sums.seconds > 0) pattern.spread = Deviation(sums.squares, pattern.mean_seconds, calls) / pattern.mean_seconds;
  if (sums.weight > 0) {
    pattern.utilisation = sums.utilisation;
    pattern.mu = sums.used / sums.weight;
    pattern.sigma = Deviation(sums.used_squares, pattern.mu, sums.weight);
  }
  return pattern;
}

RankPatterns PatternBuilder::Finish() {
  RankPatterns patterns;
  patterns.steps = steps_;
  patterns.left_out = left_out_;
  const int64_t begin_ns = (steps_ > 0 ? first_step_ns_ : first_ns_) - zero_ns_;
  const int64_t end_ns = (steps_ > 0 ? last_step_ns_ : last_ns_) - zero_ns_;
  if (end_ns <= begin_ns || !has_zero_) return patterns;
  const double window_ns = static_cast<double>(end_ns - begin_ns);
  patterns.window_seconds = window_ns * kSecondsPerNano;
  // The rates are of all calls, so they are per second of the whole profile.
  const double profile_seconds = std::max(static_cast<double>(last_ns_ - first_ns_) * kSecondsPerNano, 1e-9);
  lanes_.Settle();
  std::erase_if(events_, [&](const PathEvent& event) {
    const FunctionKind kind = functions_[event.function].kind;
    return IsOfHost(kind) && !lanes_.Counts(event.lane, kind);
  });
  const CriticalPath path = FindCriticalPath(absl::MakeSpan(events_), PathFunctions(), begin_ns, end_ns);
  events_ = {};
  patterns.idle = static_cast<double>(path.idle_ns) / window_ns;
  for (size_t i = 0; i < functions_.size(); ++i) {
    const double beta = static_cast<double>(path.function_ns[i]) / window_ns;
    patterns.functions.push_back(PatternOf(functions_[i], beta, profile_seconds));
  }
  std::sort(patterns.functions.begin(), patterns.functions.end(),
            [](const FunctionPattern& a, const FunctionPattern& b) {
              return std::make_tuple(-a.beta, a.kind, absl::string_view(a.name)) <
                     std::make_tuple(-b.beta, b.kind, absl::string_view(b.name));
            });
  size_t bytes = 0;
  size_t kept = 0;
  while (kept < patterns.functions.size() && patterns.functions[kept].beta >= kLeastBeta) {
    bytes += PatternBytes(patterns.functions[kept]);
    if (bytes > limits_.bytes) break;
    ++kept;
  }
  for (size_t i = kept; i < patterns.functions.size(); ++i) {
    ++patterns.left_out.functions;
    patterns.left_out.beta += patterns.functions[i].beta;
  }
  patterns.functions.resize(kept);
  return patterns;
}

}  // namespace lockstep
