#include "formats/pattern_message.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "detector/patterns/function_kind.h"

namespace lockstep {
namespace {

constexpr int kMaxFunctions = 1024;  // kMostPatternBytes holds fewer
constexpr double kMaxWindowSeconds = 100'000;
constexpr Utilisation kUtilisations[] = {Utilisation::kNone, Utilisation::kOccupancy, Utilisation::kCopyBandwidth,
                                         Utilisation::kMessageBandwidth};

std::optional<FunctionKind> KindOf(absl::string_view name) {
  for (int kind = 0; kind < kFunctionKinds; ++kind) {
    if (name == Name(static_cast<FunctionKind>(kind))) return static_cast<FunctionKind>(kind);
  }
  return std::nullopt;
}

// One that is not known counts nothing.
Utilisation UtilisationOf(absl::string_view name) {
  for (const Utilisation utilisation : kUtilisations) {
    if (name == Name(utilisation)) return utilisation;
  }
  return Utilisation::kNone;
}

bool IsShare(double value) { return value >= 0 && value <= 1.000'001; }

bool IsAmount(double value) { return std::isfinite(value) && value >= 0; }

bool IsValid(const wire::FunctionPattern& function) {
  return IsShare(function.beta()) && IsAmount(function.calls_per_second()) && IsAmount(function.mean_seconds()) &&
         IsAmount(function.spread()) && IsAmount(function.mu()) && IsAmount(function.sigma()) &&
         function.name().size() <= kMostFunctionNameBytes;
}

}  // namespace

void FillProfile(const RankPatterns& patterns, wire::RankProfile& profile) {
  profile.set_window_seconds(patterns.window_seconds);
  profile.set_steps(patterns.steps);
  profile.set_idle(patterns.idle);
  for (const FunctionPattern& pattern : patterns.functions) {
    wire::FunctionPattern& function = *profile.add_functions();
    function.set_kind(Name(pattern.kind));
    function.set_name(pattern.name);
    function.set_beta(static_cast<float>(pattern.beta));
    function.set_calls_per_second(static_cast<float>(pattern.calls_per_second));
    function.set_mean_seconds(static_cast<float>(pattern.mean_seconds));
    function.set_spread(static_cast<float>(pattern.spread));
    function.set_utilisation(Name(pattern.utilisation));
    function.set_mu(static_cast<float>(pattern.mu));
    function.set_sigma(static_cast<float>(pattern.sigma));
  }
  wire::PatternsLeftOut& left_out = *profile.mutable_left_out();
  left_out.set_functions(patterns.left_out.functions);
  left_out.set_beta(patterns.left_out.beta);
  left_out.set_events(patterns.left_out.events);
  left_out.set_event_seconds(patterns.left_out.event_seconds);
  left_out.set_unnamed_calls(patterns.left_out.unnamed_calls);
}

absl::StatusOr<RankPatterns> ReadProfile(const wire::RankProfile& profile) {
  const bool has_window = profile.window_seconds() > 0 && profile.window_seconds() <= kMaxWindowSeconds;
  const bool has_rest = IsAmount(profile.left_out().beta()) && IsAmount(profile.left_out().event_seconds());
  if (!has_window || !has_rest || !IsShare(profile.idle()) || profile.steps() < 0 ||
      profile.functions_size() > kMaxFunctions) {
    return absl::InvalidArgumentError("the agent's answer is no profile");
  }
  RankPatterns patterns;
  patterns.window_seconds = profile.window_seconds();
  patterns.steps = profile.steps();
  patterns.idle = profile.idle();
  const wire::PatternsLeftOut& left_out = profile.left_out();
  patterns.left_out = {.functions = left_out.functions(),
                       .beta = left_out.beta(),
                       .events = left_out.events(),
                       .event_seconds = left_out.event_seconds(),
                       .unnamed_calls = left_out.unnamed_calls()};
  for (const wire::FunctionPattern& function : profile.functions()) {
    if (!IsValid(function)) return absl::InvalidArgumentError("the agent's answer has a function that cannot be");
    const std::optional<FunctionKind> kind = KindOf(function.kind());
    if (!kind.has_value()) {
      ++patterns.left_out.functions;
      patterns.left_out.beta += function.beta();
      continue;
    }
    patterns.functions.push_back({.kind = *kind,
                                  .name = function.name(),
                                  .beta = function.beta(),
                                  .calls_per_second = function.calls_per_second(),
                                  .mean_seconds = function.mean_seconds(),
                                  .spread = function.spread(),
                                  .utilisation = UtilisationOf(function.utilisation()),
                                  .mu = function.mu(),
                                  .sigma = function.sigma()});
  }
  return patterns;
}

absl::StatusOr<RankPatterns> ParseProfile(const std::string& answer, wire::RankProfile& profile) {
  if (!profile.ParseFromString(answer)) return absl::InvalidArgumentError("the agent's answer cannot be read");
  return ReadProfile(profile);
}

}  // namespace lockstep
