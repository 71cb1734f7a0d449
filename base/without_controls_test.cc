#include "base/without_controls.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

TEST(WithoutControlsTest, NothingIsLeftThatATerminalObeys) {
  EXPECT_EQ(WithoutControls("a\x1b[2Jb\nc\x7f", '?'), "a?[2Jb?c?");
  EXPECT_EQ(WithoutControls("\xc2\x9b"
                            "31mred\xc2\x80",
                            '_'),
            "_31mred_");
}

TEST(WithoutControlsTest, WhatIsWrittenStays) {
  const std::string text = "µs, Zürich, 東京, \xc2\xa0";
  EXPECT_EQ(WithoutControls(text, '?'), text);
  EXPECT_EQ(WithoutControls("\xc2", '?'), "\xc2");
  EXPECT_EQ(WithoutControls("", '?'), "");
}

}  // namespace
}  // namespace lockstep
