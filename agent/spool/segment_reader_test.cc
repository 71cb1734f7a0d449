// Segments as bytes: those of the document, cut off, flipped, and newer ones.

#include "agent/spool/segment_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/spool/segment_format.h"
#include "agent/spool/testing/test_segments.h"
#include "base/testing/status_matchers.h"

namespace lockstep {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Outcome {
  std::vector<uint64_t> sequences;
  size_t corrupt_places = 0;
  size_t torn_bytes = 0;
};

Outcome ReadSegment(const std::string& bytes) {
  Outcome outcome;
  absl::StatusOr<SegmentReader> reader = SegmentReader::Open(bytes);
  EXPECT_OK(reader);
  SegmentRecord record;
  while (reader->Next(record)) outcome.sequences.push_back(record.report->sequence);
  outcome.corrupt_places = reader->corrupt_places();
  outcome.torn_bytes = reader->torn_bytes();
  return outcome;
}

TEST(SegmentFormatTest, BytesAreThoseOfTheDocument) {
  const std::string header = EncodeSegmentHeader({"h", "b", 0x0102030405060708, 9, 1});
  EXPECT_EQ(header.substr(0, 46),
            std::string("LSSPOOL\n\x01\0\0\0\x1a\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x09\0\0\0\0\0\0\0"
                        "\x01\0\0\0\x01\0h\x01\0b",
                        42)
                .append(header.substr(42, 4)));
  const std::string ack = EncodeAck({1, 2});
  EXPECT_EQ(ack.substr(0, 8), std::string("\xA5LSR\x11\0\0\0", 8));
  EXPECT_EQ(ack.substr(12), std::string("\x02\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0", 17));
  // CRC32C, the value of which for these nine digits is well known.
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
}

TEST(SegmentReaderTest, EveryCutOfTheLastRecordIsTornAndCostsNothingElse) {
  const std::string two = Segment({1, 2});
  const std::string three = Segment({1, 2, 3});
  for (size_t size = two.size() + 1; size < three.size(); ++size) {
    const Outcome outcome = ReadSegment(three.substr(0, size));
    ASSERT_THAT(outcome.sequences, ElementsAre(1, 2)) << size;
    ASSERT_EQ(outcome.corrupt_places, 0u) << size;
    ASSERT_EQ(outcome.torn_bytes, size - two.size());
  }
  EXPECT_EQ(ReadSegment(two + std::string(500, '\0')).torn_bytes, 500u) << "as a power failure leaves it";
}

TEST(SegmentReaderTest, EveryFlippedByteCostsOneRecordAndIsCounted) {
  const std::string one = Segment({1});
  const std::string two = Segment({1, 2});
  const std::string three = Segment({1, 2, 3});
  for (size_t at = one.size(); at < two.size(); ++at) {
    std::string bytes = three;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    const Outcome outcome = ReadSegment(bytes);
    ASSERT_THAT(outcome.sequences, ElementsAre(1, 3)) << at;
    ASSERT_EQ(outcome.corrupt_places, 1u) << at;
  }
}

TEST(SegmentReaderTest, NewerVersionsAndForeignFilesAreOneClearError) {
  std::string bytes = Segment({1});
  bytes[8] = 2;
  const absl::Status newer = SegmentReader::Open(bytes).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(newer));
  EXPECT_THAT(std::string(newer.message()), HasSubstr("has version 2, this agent reads up to 1"));
  EXPECT_TRUE(absl::IsDataLoss(SegmentReader::Open("something else altogether").status()));
  EXPECT_TRUE(absl::IsDataLoss(SegmentReader::Open("").status()));
}

}  // namespace
}  // namespace lockstep
