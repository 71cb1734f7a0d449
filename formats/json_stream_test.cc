// The walk through a JSON text that is too long to hold.

#include "formats/json_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "formats/byte_source.h"
#include "formats/testing/test_bytes.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

// The elements of the array that `text` is, as texts.
absl::StatusOr<std::vector<std::string>> ElementsOf(const std::string& text) {
  const auto source = SourceOf(text);
  JsonStream stream(*source);
  std::vector<std::string> elements;
  absl::Status status = stream.Expect('[');
  while (status.ok()) {
    const absl::StatusOr<absl::string_view> value = stream.Value();
    if (!value.ok()) return value.status();
    elements.emplace_back(*value);
    if (*stream.Peek() == ']') return elements;
    status = stream.Expect(',');
  }
  return status;
}

std::string RandomJson(Random& random, int depth) {
  switch (random.Below(depth > 0 ? 6 : 4)) {
    case 0:
      return absl::StrCat(random.Below(1000));
    case 1:
      return random.Below(2) == 0 ? "null" : "-1.5e-7";
    case 2:
      return R"("text with ] } , \" \\ and [{")";
    case 3:
      return "\"" + std::string(random.Below(40), 'x') + "\"";
    default: {
      const bool list = random.Below(2) == 0;
      std::string text(1, list ? '[' : '{');
      for (uint64_t n = random.Below(4), i = 0; i < n; ++i) {
        if (i > 0) text += random.Below(2) == 0 ? "," : " ,\n";
        if (!list) text += "\"k]\" : ";
        text += RandomJson(random, depth - 1);
      }
      return text + (list ? "]" : "}");
    }
  }
}

TEST(JsonStreamTest, CutsArraysWhereTheirElementsEnd) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    std::vector<std::string> expected;
    std::string text = " [";
    for (uint64_t n = 1 + random.Below(8); n > 0; --n) {
      expected.push_back(RandomJson(random, 3));
      text += std::string(expected.size() > 1 ? "," : "") + std::string(random.Below(3), ' ') + expected.back() +
              std::string(random.Below(3), "\n\t\r "[random.Below(4)]);
    }
    const auto elements = ElementsOf(text + "] ");
    ASSERT_OK(elements);
    EXPECT_EQ(*elements, expected) << text;
  }
}

// Long values are scanned by blocks: whatever lies where in them, they end where their brackets say.
TEST(JsonStreamTest, LongElementsEndWhereTheirBracketsSay) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<std::string> expected;
    std::string text = "[";
    for (uint64_t n = 1 + random.Below(4); n > 0; --n) {
      std::string element = "{\"a\": [";
      for (uint64_t pieces = 1 + random.Below(30); pieces > 0; --pieces) {
        const std::string rare = random.Below(10) == 0 ? R"(\\\" ]})" : "";
        element += absl::StrCat("\"", std::string(random.Below(70), "x{]}["[random.Below(5)]), rare, "\", ",
                                RandomJson(random, 2), ", ");
      }
      expected.push_back(element + "0]}");
      text += std::string(expected.size() > 1 ? "," : "") + expected.back();
    }
    const auto elements = ElementsOf(text + "]");
    ASSERT_OK(elements);
    EXPECT_EQ(*elements, expected) << text;
  }
}

TEST(JsonStreamTest, AStreamMayTakeSmallerValuesOnly) {
  const auto source = SourceOf("[\"" + std::string(size_t{20} << 20, 'x') + "\"]");
  JsonStream stream(*source, size_t{8} << 20);
  ASSERT_OK(stream.Expect('['));
  EXPECT_THAT(stream.Value().status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expected a value of at most 8388608 bytes")));
}

TEST(JsonStreamTest, ElementsMayLieAcrossBuffers) {
  std::vector<std::string> expected;
  std::string text = "[";
  for (int i = 0; i < 30; ++i) {  // 30 MB, cut into buffers in the middle of texts and of escapes
    const size_t length = 1'000'000 + 14 * static_cast<size_t>(i);
    const std::string inside(length, i % 2 == 0 ? '[' : '\\');  // an even number of backslashes
    expected.push_back(absl::StrCat("{\"n\": \"", inside, "\"}"));
    text += (i > 0 ? "," : "") + expected.back();
  }
  const auto elements = ElementsOf(text + "]");
  ASSERT_OK(elements);
  EXPECT_TRUE(*elements == expected);
}

TEST(JsonStreamTest, OffsetsCountTheBytesOfTheText) {
  const auto source = SourceOf("  [ 12 , \"a\" ]x");
  JsonStream stream(*source);
  EXPECT_EQ(stream.offset(), 0u);
  EXPECT_EQ(*stream.Peek(), '[');
  EXPECT_EQ(stream.offset(), 2u);
  stream.Skip();
  EXPECT_EQ(*stream.Value(), "12");
  EXPECT_EQ(stream.offset(), 6u);
  ASSERT_OK(stream.Expect(','));
  EXPECT_EQ(*stream.Value(), "\"a\"");
  ASSERT_OK(stream.Expect(']'));
  EXPECT_THAT(stream.Expect(','), StatusIs(absl::StatusCode::kDataLoss, "byte 14: expected ',', found 'x'"));
  EXPECT_EQ(*stream.Peek(), 'x') << "stays where it is";
}

TEST(JsonStreamTest, SaysWhatWasExpectedAndWhere) {
  const struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"", "byte 0: expected '[', found the end of the data"},
      {"  {}", "byte 2: expected '[', found '{'"},
      {"\x01", "byte 0: expected '[', found '\\x01'"},
      {"[", "byte 1: expected the rest of a value, found the end of the data"},
      {"[1 2]", "byte 3: expected ',', found '2'"},
      {"[1", "byte 2: expected ',', found the end of the data"},
      {"[\"a", "byte 1: expected the rest of a value, found the end of the data"},
      {"[\"a\\\"]", "byte 1: expected the rest of a value, found the end of the data"},
      {"[{\"a\": [1}", "byte 1: expected the rest of a value, found the end of the data"},
      {"[1,]", "byte 3: expected a value, found none"},
      {"[,1]", "byte 1: expected a value, found none"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(ElementsOf(text), StatusIs(absl::StatusCode::kDataLoss, message)) << text;
  }
}

TEST(JsonStreamTest, AZeroByteIsNotTheEnd) {
  const auto source = SourceOf(std::string("\0 1", 3));
  JsonStream stream(*source);
  EXPECT_EQ(*stream.Peek(), '\0');
  EXPECT_FALSE(stream.AtEnd());
  EXPECT_EQ(stream.Value()->size(), 1u);
  EXPECT_EQ(*stream.Value(), "1");
  EXPECT_EQ(*stream.Peek(), '\0');
  EXPECT_TRUE(stream.AtEnd());
}

TEST(JsonStreamTest, AValueHasALimit) {
  const std::string longest = "\"" + std::string(kMaxJsonValueBytes - 100, 'x') + "\"";
  EXPECT_EQ(ElementsOf("[" + longest + "]")->at(0).size(), longest.size());
  EXPECT_THAT(ElementsOf("[" + std::string(kMaxJsonValueBytes + 100, '9')),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("expected a value of at most 67108864 bytes, found a longer one")));
}

TEST(JsonStreamTest, ErrorsOfTheBytesArePassedOn) {
  const std::string bytes = Gzipped("[1, 2, 3]");
  EXPECT_THAT(ElementsOf(bytes.substr(0, bytes.size() / 2)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("compressed data damaged near byte ")));
}

TEST(JsonStreamTest, AByteOrderMarkIsPassedOver) {
  const auto elements = ElementsOf("\xef\xbb\xbf [1]");
  ASSERT_OK(elements.status());
  EXPECT_EQ(elements->size(), 1u);
  EXPECT_FALSE(ElementsOf("\xef\xbb").ok());
}

TEST(JsonStreamTest, WhatLacksItsEndIsLeftAtTheNextLineThatBegins) {
  const auto source = SourceOf("{\"a\": [\n{\"b\":\n 1}\n{\"c\": 2");
  JsonStream stream(*source);
  EXPECT_FALSE(stream.Value().ok());
  ASSERT_TRUE(stream.BackToLine('{'));
  EXPECT_EQ(*stream.Value(), "{\"b\":\n 1}");
  EXPECT_FALSE(stream.BackToLine('{')) << "it has its end";
  EXPECT_FALSE(stream.Value().ok());
  EXPECT_FALSE(stream.BackToLine('{'));
}

}  // namespace
}  // namespace lockstep
