#include "eval/suites/ordered_work.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(OrderedWorkTest, ResultsComeInOrderWhoeverMadeThem) {
  for (const int32_t threads : {0, 1, 2, 8}) {
    std::vector<int32_t> told;
    const std::vector<std::string> results = OrderedWork<std::string>::Run(
        200, threads, [](size_t number) { return std::to_string(number); },
        [&told](int32_t done) { told.push_back(done); });
    ASSERT_EQ(results.size(), 200u);
    ASSERT_EQ(told.size(), 200u);
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i], std::to_string(i));
      EXPECT_EQ(told[i], static_cast<int32_t>(i) + 1) << "never two at once, and each once";
    }
  }
}

TEST(OrderedWorkTest, NothingToDoIsDone) {
  EXPECT_TRUE(OrderedWork<int>::Run(
                  0, 4, [](size_t) { return 1; }, nullptr)
                  .empty());
}

}  // namespace
}  // namespace lockstep
