// What agents and collector call the sources of an agent.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/source_table.h"
#include "collector/failing_sources.h"

namespace lockstep {
namespace {

TEST(SourceNamesTest, TheCollectorCountsEachSourceUnderItsName) {
  for (const SourceRow& row : SourceTable()) {
    EXPECT_THAT(FailingSources::kNames, testing::Contains(std::string(row.name)));
  }
}

}  // namespace
}  // namespace lockstep
