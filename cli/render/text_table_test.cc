#include "cli/render/text_table.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TextTable Example() {
  TextTable table({{"JOB"}, {"STEPS", TextTable::Align::kRight}, {"NOTE"}});
  table.AddRow({"demo", "7", "all is well"});
  table.AddRow({"größer", "12345678", ""});
  return table;
}

TEST(TextTableTest, ColumnsLineUp) {
  EXPECT_EQ(Example().Render(0),
            "JOB        STEPS  NOTE\n"
            "demo           7  all is well\n"
            "größer  12345678\n");
}

TEST(TextTableTest, LastColumnIsShortenedToTheTerminal) {
  EXPECT_EQ(Example().Render(25),
            "JOB        STEPS  NOTE\n"
            "demo           7  all is…\n"
            "größer  12345678\n");
  EXPECT_EQ(Example().Render(5), Example().Render(22));  // never below the title
}

TEST(TextTableTest, WithoutRowsOnlyTheTitle) {
  const TextTable table({{"A"}, {"B"}});
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.Render(80), "A  B\n");
}

TEST(TextTableTest, NothingThatATerminalWouldObeyGetsThrough) {
  TextTable table({{"JOB"}});
  table.AddRow({"\x1b[31mred\nline\x7f"});
  EXPECT_EQ(table.Render(0), "JOB\n?[31mred?line?\n");
}

TEST(ShortenedTest, CutsBetweenCharacters) {
  EXPECT_EQ(Shortened("äöü", 3), "äöü");
  EXPECT_EQ(Shortened("äöü", 2), "ä…");
  EXPECT_EQ(Shortened("äöü", 1), "…");
  EXPECT_EQ(Shortened("äöü", 0), "");
}

}  // namespace
}  // namespace lockstep
