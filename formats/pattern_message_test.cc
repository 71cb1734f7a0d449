#include "formats/pattern_message.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "base/testing/status_matchers.h"
#include "detector/patterns/function_kind.h"
#include "detector/patterns/rank_patterns.h"

namespace lockstep {
namespace {

// Numbers that a float holds exactly.
RankPatterns Patterns() {
  RankPatterns patterns;
  patterns.window_seconds = 2.5;
  patterns.steps = 5;
  patterns.idle = 0.125;
  for (int kind = 0; kind < kFunctionKinds; ++kind) {
    patterns.functions.push_back({.kind = static_cast<FunctionKind>(kind),
                                  .name = "function",
                                  .beta = 0.125,
                                  .calls_per_second = 4,
                                  .mean_seconds = 0.25,
                                  .spread = 0.5,
                                  .utilisation = kind == 1 ? Utilisation::kCopyBandwidth : Utilisation::kNone,
                                  .mu = 1024,
                                  .sigma = 2});
  }
  patterns.left_out = {.functions = 3, .beta = 0.01, .events = 4, .event_seconds = 0.5, .unnamed_calls = 6};
  return patterns;
}

TEST(PatternMessageTest, PatternsArriveAsTheyLeft) {
  wire::RankProfile profile;
  FillProfile(Patterns(), profile);
  const absl::StatusOr<RankPatterns> read = ReadProfile(profile);
  ASSERT_OK(read);
  EXPECT_EQ(*read, Patterns());
}

TEST(PatternMessageTest, AKindOfANewerAgentIsCounted) {
  wire::RankProfile profile;
  FillProfile(Patterns(), profile);
  profile.mutable_functions(0)->set_kind("quantum kernel");
  profile.mutable_functions(1)->set_utilisation("entanglement");
  const absl::StatusOr<RankPatterns> read = ReadProfile(profile);
  ASSERT_OK(read);
  EXPECT_EQ(read->functions.size(), Patterns().functions.size() - 1);
  EXPECT_EQ(read->left_out.functions, 4u);
  EXPECT_NEAR(read->left_out.beta, 0.135, 1e-9);
  EXPECT_EQ(read->functions[0].utilisation, Utilisation::kNone);
}

TEST(PatternMessageTest, WhatNoAgentSendsIsRefused) {
  void (*const spoils[])(wire::RankProfile&) = {
      [](wire::RankProfile& profile) { profile.set_window_seconds(0); },
      [](wire::RankProfile& profile) { profile.set_window_seconds(NAN); },
      [](wire::RankProfile& profile) { profile.set_idle(1.5); },
      [](wire::RankProfile& profile) { profile.set_steps(-1); },
      [](wire::RankProfile& profile) { profile.mutable_functions(0)->set_beta(-0.1F); },
      [](wire::RankProfile& profile) { profile.mutable_functions(0)->set_mean_seconds(INFINITY); },
      [](wire::RankProfile& profile) { profile.mutable_functions(0)->set_name(std::string(101, 'x')); },
      [](wire::RankProfile& profile) {
        for (int i = 0; i < 1100; ++i) profile.add_functions();
      },
  };
  for (const auto spoil : spoils) {
    wire::RankProfile profile;
    FillProfile(Patterns(), profile);
    spoil(profile);
    EXPECT_EQ(ReadProfile(profile).status().code(), absl::StatusCode::kInvalidArgument) << profile.DebugString();
  }
}

}  // namespace
}  // namespace lockstep
