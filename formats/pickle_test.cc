// Plain data out of pickles and JSON: both give the same document, nothing else is let in, and damage has a place.

#include "formats/pickle.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <string.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "formats/plain_document.h"
#include "formats/plain_json.h"
#include "formats/testing/test_bytes.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using Kind = PlainNode::Kind;

// A value as Python would hold it.
struct Value {
  Kind kind = Kind::kNone;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Value> items;  // of a dict key, value, key, value, ...
};

Value RandomValue(Random& random, int depth) {
  Value value;
  value.kind = static_cast<Kind>(random.Below(depth > 0 ? 7 : 5));
  switch (value.kind) {
    case Kind::kNone:
      break;
    case Kind::kBool:
      value.integer = static_cast<int64_t>(random.Below(2));
      break;
    case Kind::kInteger: {
      const int64_t magnitude = static_cast<int64_t>(random.Next() >> (1 + random.Below(63)));
      value.integer = random.Below(2) == 0 ? magnitude : -magnitude;
      break;
    }
    case Kind::kReal:
      value.real = std::ldexp(random.Gaussian(), static_cast<int>(random.Below(100)) - 50);
      break;
    case Kind::kText:
      for (uint64_t n = random.Below(300) / (1 + random.Below(100)); n > 0; --n) {
        constexpr const char* kPieces[] = {"a", "\"", "\\", "/", "\n", "\t", "{", "]", ",", ":", "\xc3\xa9", " "};
        value.text += kPieces[random.Below(std::size(kPieces))];
      }
      break;
    default:
      for (uint64_t n = random.Below(5); n > 0; --n) {
        if (value.kind == Kind::kDict) {
          Value key;
          key.kind = Kind::kText;
          key.text = absl::StrCat("k", random.Below(1000));
          value.items.push_back(key);
        }
        value.items.push_back(RandomValue(random, depth - 1));
      }
  }
  return value;
}

std::string LittleEndian(uint64_t value, size_t bytes) {
  std::string out;
  for (size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

// Writes pickles by the description in Python's pickletools, with the opcodes that `protocol` may use, chosen at random
// where there are several for one thing.
class PickleWriter {
 public:
  PickleWriter(int protocol, Random& random) : protocol_(protocol), random_(random) {}

  std::string Pickle(const Value& value) {
    out_ = std::string("\x80") + static_cast<char>(protocol_);
    if (protocol_ >= 4) out_ += "\x95" + LittleEndian(12345, 8);  // FRAME; its length helps a reader that waits
    Write(value);
    return out_ + ".";
  }

 private:
  void Write(const Value& value) {
    switch (value.kind) {
      case Kind::kNone:
        out_ += "N";
        break;
      case Kind::kBool:
        out_ += value.integer != 0 ? "\x88" : "\x89";
        break;
      case Kind::kInteger:
        WriteInteger(value.integer);
        break;
      case Kind::kReal: {
        uint64_t bits = 0;
        memcpy(&bits, &value.real, sizeof(bits));
        out_ += "G" + LittleEndian(__builtin_bswap64(bits), 8);
        break;
      }
      case Kind::kText:
        WriteText(value.text);
        break;
      case Kind::kList:
        WriteList(value);
        break;
      case Kind::kDict:
        WriteDict(value);
        break;
    }
    if (random_.Below(4) == 0) Memoize();
  }

  void WriteInteger(int64_t value) {
    if (value >= 0 && value < 256 && random_.Below(4) > 0) {
      out_ += "K" + LittleEndian(static_cast<uint64_t>(value), 1);
    } else if (value >= 0 && value < 65536 && random_.Below(4) > 0) {
      out_ += "M" + LittleEndian(static_cast<uint64_t>(value), 2);
    } else if (value == static_cast<int32_t>(value) && random_.Below(4) > 0) {
      out_ += "J" + LittleEndian(static_cast<uint64_t>(value), 4);
    } else if (value == 0) {
      out_ += std::string("\x8a\x00", 2);  // LONG1 without any byte is zero
    } else {
      size_t bytes = 8;  // two's complement, as few bytes as hold it
      while (bytes > 1 && value >> (8 * (bytes - 1) - 1) == (value < 0 ? -1 : 0)) --bytes;
      const bool is_short = random_.Below(2) == 0;
      out_ += (is_short ? "\x8a" : "\x8b") + LittleEndian(bytes, is_short ? 1 : 4) +
              LittleEndian(static_cast<uint64_t>(value), bytes);
    }
  }

  void WriteText(const std::string& text) {
    const auto known = memo_of_text_.find(text);
    if (known != memo_of_text_.end()) {
      out_ += known->second < 256 ? "h" + LittleEndian(known->second, 1) : "j" + LittleEndian(known->second, 4);
      return;
    }
    if (protocol_ >= 4 && text.size() < 256) {
      out_ += "\x8c" + LittleEndian(text.size(), 1) + text;
    } else if (protocol_ >= 4 && random_.Below(2) == 0) {
      out_ += "\x8d" + LittleEndian(text.size(), 8) + text;
    } else {
      out_ += "X" + LittleEndian(text.size(), 4) + text;
    }
    memo_of_text_[text] = Memoize();
  }

  void WriteList(const Value& value) {
    const size_t size = value.items.size();
    if (random_.Below(3) == 0) {  // a tuple
      const bool marked = size > 3 || (size > 0 && random_.Below(2) == 0);
      if (marked) out_ += "(";
      for (const Value& item : value.items) Write(item);
      out_ += marked ? "t" : std::string(1, ")\x85\x86\x87"[size]);
      return;
    }
    out_ += "]";
    if (random_.Below(2) == 0) Memoize();
    if (size == 1 || random_.Below(3) == 0) {
      for (const Value& item : value.items) {
        Write(item);
        out_ += "a";
      }
    } else {
      out_ += "(";
      for (const Value& item : value.items) Write(item);
      out_ += "e";
    }
  }

  void WriteDict(const Value& value) {
    out_ += "}";
    const bool together = random_.Below(2) == 0;
    if (together) out_ += "(";
    for (size_t i = 0; i < value.items.size(); i += 2) {
      Write(value.items[i]);
      Write(value.items[i + 1]);
      if (!together) out_ += "s";
    }
    if (together) out_ += "u";
  }

  uint64_t Memoize() {
    const uint64_t number = memoized_++;
    if (protocol_ >= 4) {
      out_ += "\x94";
    } else {
      out_ += number < 256 ? "q" + LittleEndian(number, 1) : "r" + LittleEndian(number, 4);
    }
    return number;
  }

  const int protocol_;
  Random& random_;
  std::string out_;
  std::map<std::string, uint64_t> memo_of_text_;
  uint64_t memoized_ = 0;
};

std::string JsonOf(const Value& value) {
  std::string text;
  switch (value.kind) {
    case Kind::kNone:
      return "null";
    case Kind::kBool:
      return value.integer != 0 ? "true" : "false";
    case Kind::kInteger:
      return absl::StrCat(value.integer);
    case Kind::kReal: {
      char digits[64];
      snprintf(digits, sizeof(digits), "%.17e", value.real);
      return digits;
    }
    case Kind::kText:
      for (const char c : value.text) {
        if (c == '"' || c == '\\') text.push_back('\\');
        text += c == '\n' ? "\\n" : c == '\t' ? "\\u0009" : std::string(1, c);
      }
      return absl::StrCat("\"", text, "\"");
    case Kind::kList:
      for (const Value& item : value.items) absl::StrAppend(&text, text.empty() ? "" : " , ", JsonOf(item));
      return absl::StrCat("[", text, "]");
    case Kind::kDict:
      for (size_t i = 0; i < value.items.size(); i += 2) {
        absl::StrAppend(&text, i > 0 ? ",\n" : "", JsonOf(value.items[i]), ":", JsonOf(value.items[i + 1]));
      }
      return absl::StrCat("{", text, "}");
  }
  return text;
}

void ExpectSame(const PlainDocument& document, const PlainNode& node, const Value& value) {
  ASSERT_EQ(node.kind, value.kind);
  EXPECT_EQ(node.integer, value.integer);
  EXPECT_EQ(node.real, value.real);
  EXPECT_EQ(node.text, value.text);
  ASSERT_EQ(node.items.size(), value.items.size());
  for (size_t i = 0; i < value.items.size(); ++i) ExpectSame(document, document.node(node.items[i]), value.items[i]);
}

class PickleProtocolTest : public ::testing::TestWithParam<int> {};

TEST_P(PickleProtocolTest, AnyPlainDataComesBack) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const Value value = RandomValue(random, 4);
    const absl::StatusOr<PlainDocument> document = ParsePickle(PickleWriter(GetParam(), random).Pickle(value));
    ASSERT_OK(document);
    ExpectSame(*document, document->node(document->root), value);
  }
}

TEST_P(PickleProtocolTest, NoCutPickleIsTakenForAWholeOne) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const std::string bytes = PickleWriter(GetParam(), random).Pickle(RandomValue(random, 3));
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THAT(ParsePickle(absl::string_view(bytes).substr(0, size)),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("found the end of the data")));
    }
  }
}

TEST_P(PickleProtocolTest, DamageIsAnErrorWithAPlaceOrOtherPlainData) {
  for (uint64_t seed = 1; seed <= 1'500; ++seed) {
    Random random(seed);
    const std::string bytes = Damaged(PickleWriter(GetParam(), random).Pickle(RandomValue(random, 3)), random);
    const absl::StatusOr<PlainDocument> document = ParsePickle(bytes);
    if (document.ok()) {
      EXPECT_LE(document->node(document->root).kind, Kind::kDict);
    } else {
      EXPECT_THAT(document, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("byte ")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, PickleProtocolTest, ::testing::Values(2, 3, 4, 5));

TEST(PickleErrorTest, EveryOpcodeThatReachesForCodeIsRefusedByName) {
  const struct {
    unsigned char code;
    const char* name;
  } cases[] = {{'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},          {'b', "BUILD"},
               {'i', "INST"},   {'o', "OBJ"},           {0x81, "NEWOBJ"},         {0x92, "NEWOBJ_EX"},
               {'P', "PERSID"}, {'Q', "BINPERSID"},     {0x82, "EXT1"},           {0x83, "EXT2"},
               {0x84, "EXT4"},  {0x97, "NEXT_BUFFER"},  {0x98, "READONLY_BUFFER"}};
  for (const auto& [code, name] : cases) {
    const std::string bytes = std::string("\x80\x02N", 3) + static_cast<char>(code) + "os\nsystem\n.";
    EXPECT_THAT(ParsePickle(bytes),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("byte 3: expected plain data, found the opcode ", name, ", which is refused")));
  }
}

TEST(PickleErrorTest, NoOpcodeButThoseOfPlainDataIsKnown) {
  const std::string plain("\x80\x95.N\x88\x89\x8a\x8bGX\x8c\x8dTUqr\x94hj(KMJt)\x85\x86\x87]}aesu", 34);
  int known = 0;
  for (int code = 0; code < 256; ++code) {
    const absl::StatusOr<PlainDocument> document = ParsePickle(std::string(1, static_cast<char>(code)));
    ASSERT_FALSE(document.ok());
    const bool refused = absl::StartsWith(document.status().message(), "byte 0: expected plain data, found the ");
    EXPECT_EQ(refused, plain.find(static_cast<char>(code)) == std::string::npos) << code;
    known += refused ? 0 : 1;
  }
  EXPECT_EQ(known, 34);
}

TEST(PickleErrorTest, WhatDoesNotFitTheStackIsNamed) {
  const struct {
    std::string bytes;
    const char* message;
  } cases[] = {
      {"", "byte 0: expected 1 more bytes, found the end of the data"},
      {".", "byte 0: expected one value at the end, found 0 on the stack"},
      {"NN.", "byte 2: expected one value at the end, found 2 on the stack"},
      {"(.", "byte 1: expected one value at the end, found 1 on the stack"},
      {std::string("\x80\x06", 2), "byte 0: expected protocol 0 to 5, found protocol 6"},
      {"Na", "byte 1: expected a list below the items, found something else"},
      {"a", "byte 0: expected 1 values on the stack, found 0"},
      {"]e", "byte 1: expected a mark on the stack, found none"},
      {"(e", "byte 1: expected a list below the items, found something else"},
      {"](Na(e", "byte 3: expected a list below the items, found something else"},
      {"}Ns", "byte 2: expected a dict below the items, found something else"},
      {"](NNs", "byte 4: expected a dict below the items, found something else"},
      {"}(Nu", "byte 3: expected keys with values, found an odd number of items"},
      {"N\x86", "byte 1: expected 2 values on the stack, found 1"},
      {"N(\x86", "byte 2: expected values on the stack, found a mark"},
      {std::string("q\0", 2), "byte 0: expected a value on the stack, found none"},
      {std::string("(q\0", 3), "byte 1: expected a value on the stack, found none"},
      {"h\x07", "byte 0: expected memo entry 7, found none"},
      {std::string("j\1\1\0\0", 5), "byte 0: expected memo entry 257, found none"},
      {std::string("\x8a\x09"
                   "123456789",
                   11),
       "byte 0: expected an integer of at most 64 bits, found 9 bytes"},
      {std::string("X\xff\xff\xff\x7f"
                   "ab",
                   7),
       "byte 5: expected 2147483647 more bytes, found the end of the data"},
      {std::string("\x8d\xff\xff\xff\xff\xff\xff\xff\xff", 9),
       "byte 9: expected 18446744073709551615 more bytes, found the end of the data"},
  };
  for (const auto& [bytes, message] : cases) {
    EXPECT_THAT(ParsePickle(bytes), StatusIs(absl::StatusCode::kInvalidArgument, message)) << absl::CHexEscape(bytes);
  }
}

TEST(PickleErrorTest, ADocumentThatHoldsItselfIsNoTrap) {
  const absl::StatusOr<PlainDocument> document = ParsePickle(std::string("]q\0h\0a.", 7));
  ASSERT_OK(document);
  const PlainNode& root = document->node(document->root);
  ASSERT_EQ(root.items.size(), 1u);
  EXPECT_EQ(root.items[0], document->root);
}

TEST(PickleErrorTest, BytesBehindTheEndAreIgnoredAsPythonDoes) {
  EXPECT_EQ(ParsePickle("K\x05.garbage")->node(0).integer, 5);
}

TEST(PlainJsonTest, AnyPlainDataComesBack) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const Value value = RandomValue(random, 4);
    const absl::StatusOr<PlainDocument> document = ParsePlainJson(JsonOf(value));
    ASSERT_OK(document);
    ExpectSame(*document, document->node(document->root), value);
  }
}

TEST(PlainJsonTest, WhatIsNoJsonIsRefused) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\"}", "{\"a\":}", "nul", "01", "'a'", "[1] [2]", "\"\\x\"", "NaN",
                           "{\"a\": 1,}", "\"\xff\""}) {
    EXPECT_THAT(ParsePlainJson(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected JSON: ")))
        << text;
  }
}

TEST(PlainJsonTest, DepthIsBounded) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_OK(ParsePlainJson(nested(200)));
  EXPECT_FALSE(ParsePlainJson(nested(300)).ok());
  EXPECT_FALSE(ParsePlainJson(std::string(1 << 20, '[')).ok());
}

TEST(PlainDocumentTest, TheLastValueOfAKeyCounts) {
  const absl::StatusOr<PlainDocument> document = ParsePlainJson(R"({"a": 1, "b": 2, "a": 3, "": 4})");
  ASSERT_OK(document);
  const PlainNode& root = document->node(document->root);
  EXPECT_EQ(IntegerOr(document->Find(root, "a"), -1), 3);
  EXPECT_EQ(IntegerOr(document->Find(root, ""), -1), 4);
  EXPECT_EQ(document->Find(root, "c").kind, Kind::kNone);
  EXPECT_EQ(document->Find(document->Find(root, "a"), "x").kind, Kind::kNone) << "a number is no dict";
}

TEST(PlainDocumentTest, NumbersAreReadAsWhatWasAskedFor) {
  constexpr int64_t kNot = -77;
  const struct {
    const char* json;
    int64_t integer;
    double real;
    const char* text;
  } cases[] = {
      {"5", 5, 5, ""},
      {"-9223372036854775808", std::numeric_limits<int64_t>::min(), -9223372036854775808.0, ""},
      {"9223372036854775808", kNot, 9223372036854775808.0, ""},  // a real, and one that fits no integer
      {"2.5", 3, 2.5, ""},
      {"-2.4", -2, -2.4, ""},
      {"1e30", kNot, 1e30, ""},
      {"true", 1, kNot, ""},
      {"null", kNot, kNot, ""},
      {"\"7\"", kNot, kNot, "7"},
      {"[7]", kNot, kNot, ""},
  };
  for (const auto& [json, integer, real, text] : cases) {
    const absl::StatusOr<PlainDocument> document = ParsePlainJson(json);
    ASSERT_OK(document);
    const PlainNode& root = document->node(document->root);
    EXPECT_EQ(IntegerOr(root, kNot), integer) << json;
    EXPECT_EQ(RealOr(root, kNot), real) << json;
    EXPECT_EQ(TextOf(root), text) << json;
  }
}

}  // namespace
}  // namespace lockstep
