#include "agent/sources/kernel_log/kmsg_record.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(KmsgRecordTest, ReadsARecord) {
  const absl::optional<KmsgRecord> record = ParseKmsgRecord("6,1234,5678901,-;NVRM: loading; really\n");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->sequence, 1234u);
  EXPECT_EQ(record->monotonic_us, 5678901u);
  EXPECT_EQ(record->text, "NVRM: loading; really");
}

TEST(KmsgRecordTest, LeavesOutTheContinuationLines) {
  const absl::optional<KmsgRecord> record =
      ParseKmsgRecord("3,7,42,c,caller=T12;link down\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->text, "link down");
}

TEST(KmsgRecordTest, TakesAnEmptyText) {
  const absl::optional<KmsgRecord> record = ParseKmsgRecord("6,1,2,-;");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->text, "");
}

TEST(KmsgRecordTest, RefusesWhatIsNoRecord) {
  for (const char* text : {"", "\n", "text without header", "6,1,2,-", ";text", "6,1;text", "a,1,2,-;x", "6,-1,2,-;x",
                           "6,1,99999999999999999999999,-;x", "6,1,2,-\n;x"}) {
    EXPECT_FALSE(ParseKmsgRecord(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace lockstep
