#include "collector/alert/yaml_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(YamlValuesTest, NamesHaveNoSpaceAndNothingThatNeedsQuotes) {
  EXPECT_TRUE(IsPlainName("on-call_2"));
  EXPECT_FALSE(IsPlainName(""));
  EXPECT_FALSE(IsPlainName("a b"));
  EXPECT_FALSE(IsPlainName("a:b"));
  EXPECT_TRUE(IsOneWord("a:b/c"));
  EXPECT_FALSE(IsOneWord("a b"));
  EXPECT_FALSE(IsOneWord("a\n"));
  EXPECT_FALSE(IsOneWord(""));
}

TEST(YamlValuesTest, TimesAreFromASecondToAnHour) {
  const auto read = [](const char* text, int64_t& nanos) { return ReadYamlTime(YAML::Load(text), "every", nanos); };
  int64_t nanos = 7;
  EXPECT_TRUE(read("{}", nanos).ok());
  EXPECT_EQ(nanos, 7) << "as it was";
  EXPECT_TRUE(read("{every: 1s}", nanos).ok());
  EXPECT_EQ(nanos, 1'000'000'000);
  EXPECT_TRUE(read("{every: 1h}", nanos).ok());
  EXPECT_EQ(nanos, 3'600'000'000'000);
  for (const char* const wrong : {"{every: 999ms}", "{every: 61m}", "{every: 5}", "{every: -1s}"}) {
    EXPECT_EQ(read(wrong, nanos).message(), "line 1: 'every' must be from 1s to 1h") << wrong;
  }
}

TEST(YamlValuesTest, YesIsNoTruth) {
  bool value = true;
  EXPECT_TRUE(ReadYamlBool(YAML::Load("{}"), "run", value).ok());
  EXPECT_TRUE(value) << "as it was";
  EXPECT_TRUE(ReadYamlBool(YAML::Load("{run: false}"), "run", value).ok());
  EXPECT_FALSE(value);
  EXPECT_EQ(ReadYamlBool(YAML::Load("{run: yes}"), "run", value).message(), "line 1: 'run' must be true or false");
}

TEST(YamlValuesTest, OneTextIsAListOfOne) {
  const auto texts = [](const char* text) { return YamlTexts(YAML::Load(text), "to"); };
  EXPECT_THAT(texts("{to: a}").value(), ElementsAre("a"));
  EXPECT_THAT(texts("{to: [a, b]}").value(), ElementsAre("a", "b"));
  EXPECT_THAT(texts("{}").value(), IsEmpty());
  EXPECT_FALSE(texts("{to: [a, [b]]}").ok());
  EXPECT_FALSE(texts("{to: ['']}").ok());
}

}  // namespace
}  // namespace lockstep
