#include "agent/text_fields.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace lockstep {
namespace {

TEST(TextFieldsTest, TakesLinesWithAndWithoutANewlineAtTheEnd) {
  absl::string_view text = "a b\n\nlast";
  EXPECT_EQ(TakeLine(text), "a b");
  EXPECT_EQ(TakeLine(text), "");
  EXPECT_EQ(TakeLine(text), "last");
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(TakeLine(text), "");
}

TEST(TextFieldsTest, TakesFieldsBetweenRunsOfBlanks) {
  absl::string_view line = "  259\t 0 nvme0n1 ";
  EXPECT_EQ(TakeField(line), "259");
  EXPECT_EQ(TakeField(line), "0");
  EXPECT_EQ(TakeField(line), "nvme0n1");
  EXPECT_EQ(TakeField(line), "");
  EXPECT_EQ(TakeField(line), "");
}

TEST(TextFieldsTest, ACountIsAWholeUnsignedNumber) {
  EXPECT_EQ(ParseCount("0"), 0u);
  EXPECT_EQ(ParseCount("18446744073709551615"), UINT64_MAX);
  for (const char* field : {"", "-1", "1x", "x1", "1.5", "18446744073709551616", "N/A"}) {
    EXPECT_FALSE(ParseCount(field).has_value()) << field;
  }
}

TEST(TextFieldsTest, AFileOfOneNumberHoldsNothingElse) {
  EXPECT_EQ(ParseOnlyCount("42\n"), 42u);
  EXPECT_EQ(ParseOnlyCount("42"), 42u);
  for (const char* text : {"", "\n", "42 43\n", "N/A (no PMA)\n", "-1\n"}) {
    EXPECT_FALSE(ParseOnlyCount(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace lockstep
