#include "daemon/flame_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(FlameGraphTest, BarsAreAsWideAsTheirShare) {
  const std::string svg = FlameGraphSvg({{{"main", "wait"}, 3}, {{"main", "work"}, 1}}, "rank 3");
  EXPECT_THAT(svg, AllOf(StartsWith("<svg xmlns="), EndsWith("</svg>\n"), HasSubstr(">rank 3</text>")));
  EXPECT_THAT(svg, HasSubstr("<title>main: 4 of 4 samples</title><rect x=\"10.0\" y=\"48.0\" width=\"1180.0\""));
  EXPECT_THAT(svg, HasSubstr("<title>wait: 3 of 4 samples</title><rect x=\"10.0\" y=\"66.0\" width=\"885.0\""));
  EXPECT_THAT(svg, HasSubstr("<title>work: 1 of 4 samples</title><rect x=\"895.0\" y=\"66.0\" width=\"295.0\""));
}

TEST(FlameGraphTest, NamesAreTextAndNothingElse) {
  const std::string svg = FlameGraphSvg({{{"</title><script>alert(1)</script>", "a\"b&c\x01\xff"}, 1}}, "<b>");
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("<script>")), HasSubstr("&lt;script&gt;"), HasSubstr("a&quot;b&amp;c??"),
                         Not(HasSubstr("<b>"))));
}

TEST(FlameGraphTest, IsBounded) {
  std::vector<FlameStack> stacks;
  for (int i = 0; i < 3'000; ++i) stacks.push_back({{"main", absl::StrCat(i % 3'000), "leaf"}, 1});
  stacks.push_back({std::vector<std::string>(10'000, "deep"), 1'000});
  const std::string svg = FlameGraphSvg(stacks, "");
  EXPECT_LE(CountOf(svg, "<rect"), kMaxFlameBars + 1);
  EXPECT_LE(CountOf(svg, "<title>deep"), kMaxFlameDepth);
  EXPECT_THAT(FlameGraphSvg({}, "nothing"), AllOf(HasSubstr("nothing"), Not(HasSubstr("<g>"))));
}

}  // namespace
}  // namespace lockstep
