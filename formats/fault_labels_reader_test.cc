#include "formats/fault_labels_reader.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/testing/status_matchers.h"
#include "formats/byte_source.h"
#include "formats/read_result.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

ReadResult Read(const std::string& text, std::vector<FaultLabel>& labels) {
  return ReadFaultLabels(**ByteSource::FromStream(std::make_unique<std::istringstream>(text)), labels);
}

TEST(FaultLabelsTest, ReadsColumnsInAnyOrder) {
  std::vector<FaultLabel> labels;
  const ReadResult result = Read("end_ms,host,job,begin_ms\n900,h1,j,500\n7,,\"a,b\",-3\n", labels);
  EXPECT_OK(result.status);
  ASSERT_EQ(labels.size(), 2u);
  EXPECT_EQ(labels[0].job, "j");
  EXPECT_EQ(labels[0].begin_ms, 500);
  EXPECT_EQ(labels[0].end_ms, 900);
  EXPECT_EQ(labels[1].job, "a,b");
  EXPECT_EQ(labels[1].begin_ms, -3);
}

TEST(FaultLabelsTest, SaysWhichRowIsWrongAndReadsTheOthers) {
  std::vector<FaultLabel> labels;
  const ReadResult result = Read("job,begin_ms,end_ms\nj,9,3\n,1,2\nj,x,2\nj,1,2\n", labels);
  EXPECT_THAT(result.status.message(), HasSubstr("line 2"));
  EXPECT_THAT(result.status.message(), HasSubstr("column 'end_ms': expected no time before begin_ms, found '3'"));
  EXPECT_EQ(result.malformed, 3u);
  EXPECT_EQ(labels.size(), 1u);
}

TEST(FaultLabelsTest, WantsItsColumns) {
  std::vector<FaultLabel> labels;
  EXPECT_FALSE(Read("job,begin_ms\nj,1\n", labels).status.ok());
  EXPECT_FALSE(Read("", labels).status.ok());
}

}  // namespace
}  // namespace lockstep
