// Bytes on disk: golden vectors (a change of any of them needs a new schema version), round trips, order, bad input.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "absl/strings/escaping.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "collector/store/byte_codec.h"
#include "collector/store/chunk.h"
#include "collector/store/keys.h"
#include "collector/store/log_chunk.h"
#include "collector/store/rollup.h"
#include "collector/store/values.h"

namespace lockstep {
namespace {

using ::testing::_;
using ::testing::HasSubstr;

std::string Hex(absl::string_view bytes) { return absl::BytesToHexString(bytes); }

int64_t AnyTime(Random& random) { return static_cast<int64_t>(random.Next() >> random.Below(64)) - 5; }

wire::CaptureEntry Watermark(const std::string& job, int64_t wall_ns) {
  wire::CaptureEntry entry;
  entry.mutable_watermark()->set_job(job);
  entry.mutable_watermark()->set_wall_ns(wall_ns);
  return entry;
}

wire::Incident SomeIncident() {
  wire::Incident incident;
  incident.set_id(7);
  incident.set_job("a");
  incident.set_resolved_wall_ns(9);
  return incident;
}

// Decoding must report, not crash, whatever is cut off or appended.
template <typename Decode>
void ExpectOnlyTheWholeDecodes(const std::string& bytes, Decode decode) {
  EXPECT_OK(decode(bytes));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(decode(bytes.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss, _)) << "cut to " << size;
  }
  EXPECT_THAT(decode(bytes + '\0'), StatusIs(absl::StatusCode::kDataLoss, _));
}

TEST(KeysTest, GoldenBytes) {
  EXPECT_EQ(Hex(EncodeTimedKey({0x0102030405060708, 1, 2})),
            "0102030405060708"
            "8000000000000001"
            "0000000000000002");
  EXPECT_EQ(Hex(EncodeTimedKey({1, -1, 2})),
            "0000000000000001"
            "7fffffffffffffff"
            "0000000000000002");
  EXPECT_EQ(Hex(EncodeMarkKey("n1", 0x0a)),
            "00026e31"
            "000000000000000a");
  EXPECT_EQ(Hex(EncodeSeriesLabels({Metric::kGpuPowerWatts, "n1", "gpu0"})),
            "00a6"
            "00026e31"
            "000467707530");
  EXPECT_EQ(Hex(EncodeIncidentKey(258)), "0000000000000102");
}

TEST(KeysTest, BytesSortLikeIdTimeAndNumber) {
  Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const TimedKey a{random.Below(3), AnyTime(random), random.Below(3)};
    const TimedKey b{random.Below(3), random.Below(4) == 0 ? a.first_wall_ns : AnyTime(random), random.Below(3)};
    const auto tuple = [](const TimedKey& key) { return std::tuple(key.id, key.first_wall_ns, key.number); };
    EXPECT_EQ(EncodeTimedKey(a) < EncodeTimedKey(b), tuple(a) < tuple(b));
    EXPECT_EQ(DecodeTimedKey(EncodeTimedKey(a)).value(), a);
  }
}

TEST(KeysTest, BoundsEncloseExactlyTheKeysOfTheId) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::string last = EncodeTimedKey({5, kMax, std::numeric_limits<uint64_t>::max()});
  EXPECT_LE(TimedKeyLowerBound(5, kMin), EncodeTimedKey({5, kMin, 0}));
  EXPECT_LT(last, TimedKeyEnd(5));
  EXPECT_LT(TimedKeyEnd(5), TimedKeyLowerBound(6, kMin));
}

TEST(KeysTest, PrefixSelectsMetricAndHostAndNothingElse) {
  const std::string prefix = SeriesLabelsPrefix(Metric::kGpuPowerWatts, "node-1");
  const auto selected = [&](const SeriesLabels& labels) {
    const std::string key = EncodeSeriesLabels(labels);
    return prefix <= key && key < PrefixEnd(prefix);
  };
  EXPECT_TRUE(selected({Metric::kGpuPowerWatts, "node-1", ""}));
  EXPECT_TRUE(selected({Metric::kGpuPowerWatts, "node-1", "gpu7"}));
  EXPECT_FALSE(selected({Metric::kGpuPowerWatts, "node-10", ""}));
  EXPECT_FALSE(selected({Metric::kGpuPowerWatts, "node-2", ""}));
  EXPECT_FALSE(selected({Metric::kHostLoad1, "node-1", ""}));
  EXPECT_EQ(PrefixEnd("a\xff\xff"), "b");
  EXPECT_EQ(PrefixEnd("\xff"), "");
}

TEST(KeysTest, OnlyWholeKeysDecode) {
  ExpectOnlyTheWholeDecodes(EncodeTimedKey({1, 2, 3}), DecodeTimedKey);
  ExpectOnlyTheWholeDecodes(EncodeSeriesLabels({Metric::kHostLoad1, "node", "sda"}), DecodeSeriesLabels);
  ExpectOnlyTheWholeDecodes(EncodeIncidentKey(1), DecodeIncidentKey);
}

TEST(ByteCodecTest, ZigzagRoundTripsAtTheEdges) {
  for (const int64_t value : {int64_t{0}, int64_t{-1}, int64_t{1}, int64_t{-64}, int64_t{64},
                              std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    std::string bytes;
    AppendZigzag(bytes, value);
    ByteReader reader(bytes);
    int64_t read = 0;
    EXPECT_TRUE(reader.ReadZigzag(read) && reader.empty());
    EXPECT_EQ(read, value);
  }
  std::string unending(11, '\x80');
  int64_t ignored = 0;
  EXPECT_FALSE(ByteReader(unending).ReadZigzag(ignored));
}

TEST(ChunkTest, GoldenBytes) {
  EXPECT_EQ(Hex(EncodeChunk({{100, 1.0}, {160, -2.5}})),
            "01"
            "0002"
            "c801"
            "78"
            "3ff0000000000000"
            "c004000000000000");
}

TEST(ChunkTest, RandomPointsRoundTrip) {
  Random random(2);
  for (int round = 0; round < 500; ++round) {
    std::vector<Point> points;
    for (uint64_t i = 0; i <= random.Below(300); ++i) points.emplace_back(AnyTime(random), random.Gaussian());
    EXPECT_EQ(DecodeChunk(EncodeChunk(points)).value(), points);
  }
}

TEST(ChunkTest, BadBytesAreDataLoss) {
  ExpectOnlyTheWholeDecodes(EncodeChunk({{1, 2}, {3, 4}}), DecodeChunk);
  EXPECT_THAT(DecodeChunk("\x02"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("unknown format 2")));
  EXPECT_THAT(DecodeChunk(absl::string_view("\x01\x00\x00", 3)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("impossible count of 0")));
  EXPECT_THAT(DecodeChunk("\x01\xff\xff"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("impossible count")));
}

TEST(RollupTest, GoldenBytesAndValues) {
  const Rollup rollup = RollUp({{10, 3}, {20, 1}, {30, 2}});
  EXPECT_EQ(rollup, (Rollup{.last_wall_ns = 30, .count = 3, .min = 1, .max = 3, .sum = 6, .first = 3, .last = 2}));
  EXPECT_EQ(Hex(EncodeRollup(rollup)),
            "01"
            "800000000000001e"
            "00000003"
            "3ff0000000000000"
            "4008000000000000"
            "4018000000000000"
            "4008000000000000"
            "4000000000000000");
  EXPECT_EQ(DecodeRollup(EncodeRollup(rollup)).value(), rollup);
  ExpectOnlyTheWholeDecodes(EncodeRollup(rollup), DecodeRollup);
}

TEST(ValuesTest, GoldenBytes) {
  EXPECT_EQ(Hex(EncodeMark({5, 6})),
            "01"
            "0000000000000005"
            "8000000000000006");
  EXPECT_EQ(Hex(EncodeIndex({5, 6})),
            "01"
            "0000000000000005"
            "8000000000000006");
  EXPECT_EQ(Hex(EncodeSchemaVersion(1)),
            "01"
            "00000001");
  EXPECT_EQ(Hex(EncodeSeen(6)),
            "01"
            "8000000000000006");
  EXPECT_EQ(Hex(EncodePauses({{5, 6}, {-7, 8}})),
            "01"
            "00000002"
            "8000000000000005"
            "8000000000000006"
            "7ffffffffffffff9"
            "8000000000000008");
  EXPECT_EQ(Hex(EncodeIncident(SomeIncident())),
            "01"
            "8000000000000009"
            "0807"
            "120161"
            "4009");
  wire::AuditRecord record;
  record.set_wall_ns(6);
  record.set_action("a");
  EXPECT_EQ(Hex(EncodeAuditRecord(record)),
            "01"
            "0806"
            "120161");
  EXPECT_EQ(DecodeAuditRecord(EncodeAuditRecord(record)).value().action(), "a");
  EXPECT_EQ(Hex(EncodeAuditKey({AuditKind::kRefusal, 5})),
            "61756469742f"
            "01"
            "0000000000000005");
  EXPECT_EQ(DecodeAuditKey(EncodeAuditKey({AuditKind::kRefusal, 5})).value(), (AuditKey{AuditKind::kRefusal, 5}));
  ExpectOnlyTheWholeDecodes(EncodeAuditKey({AuditKind::kChange, 5}), DecodeAuditKey);
  EXPECT_THAT(DecodeAuditKey(EncodeAuditKey({static_cast<AuditKind>(2), 5})),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("audit")));
}

TEST(ValuesTest, RoundTripAndBadBytes) {
  EXPECT_EQ(DecodeMark(EncodeMark({5, -6})).value(), (MarkValue{5, -6}));
  EXPECT_EQ(DecodeIndex(EncodeIndex({5, 6})).value(), (IndexValue{5, 6}));
  EXPECT_EQ(DecodeSchemaVersion(EncodeSchemaVersion(9)).value(), 9u);
  EXPECT_EQ(DecodeIncident(EncodeIncident(SomeIncident())).value().SerializeAsString(),
            SomeIncident().SerializeAsString());
  EXPECT_EQ(IncidentResolvedWallNanos(EncodeIncident(SomeIncident())).value(), 9);
  ExpectOnlyTheWholeDecodes(EncodeMark({1, 2}), DecodeMark);
  ExpectOnlyTheWholeDecodes(EncodeIndex({1, 2}), DecodeIndex);
  ExpectOnlyTheWholeDecodes(EncodeSchemaVersion(1), DecodeSchemaVersion);
  EXPECT_EQ(DecodeSeen(EncodeSeen(-6)).value(), -6);
  ExpectOnlyTheWholeDecodes(EncodeSeen(1), DecodeSeen);
  EXPECT_EQ(DecodeTold(EncodeTold({"C1", "17.3", -6})).value(), (ToldValue{"C1", "17.3", -6}));
  ExpectOnlyTheWholeDecodes(EncodeTold({"C1", "17.3", 1}), DecodeTold);
  const std::vector<Pause> pauses = {{-5, 6}, {6, 7}, {9, 12}};
  EXPECT_EQ(DecodePauses(EncodePauses(pauses)).value(), pauses);
  ExpectOnlyTheWholeDecodes(EncodePauses(pauses), DecodePauses);
  for (const std::vector<Pause>& disordered : {std::vector<Pause>{{5, 5}}, {{5, 7}, {6, 8}}}) {
    EXPECT_THAT(DecodePauses(EncodePauses(disordered)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("pauses")));
  }
  EXPECT_THAT(DecodeIncident(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("empty incident")));
  EXPECT_THAT(DecodeIncident("\x01"
                             "12345678\xff"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("malformed")));
}

TEST(LogChunkTest, GoldenHeaderAndPayload) {
  LogChunkBuilder builder;
  ASSERT_TRUE(builder.Add(Watermark("a", 5)));
  ASSERT_TRUE(builder.Add(Watermark("a", 6)));
  EXPECT_EQ(builder.first_wall_ns(), 5);
  const std::string bytes = builder.Seal();
  EXPECT_TRUE(builder.empty());
  // Two entries of 4 + 7 bytes; what zstd makes of them is zstd's business, but its frame begins with its magic number.
  EXPECT_EQ(Hex(bytes.substr(0, 21)),
            "01"
            "8000000000000006"
            "00000002"
            "00000016"
            "28b52ffd");
  EXPECT_EQ(LogChunkLastWallNanos(bytes).value(), 6);
}

// As zstd 1.5 packed it: every later version must read it.
TEST(LogChunkTest, GoldenChunkOfAnEarlierVersionDecodes) {
  const std::string bytes = absl::HexStringToBytes(
      "018000000000000006000000020000001628b52ffd2016b100000000000712050a016110050000000712050a01611006");
  const auto entries = DecodeLogChunk(bytes);
  ASSERT_OK(entries);
  ASSERT_EQ(entries->size(), 2u);
  EXPECT_EQ((*entries)[0].SerializeAsString(), Watermark("a", 5).SerializeAsString());
  EXPECT_EQ((*entries)[1].SerializeAsString(), Watermark("a", 6).SerializeAsString());
}

TEST(LogChunkTest, EntriesOfEveryKindRoundTripWithJobAndTime) {
  std::vector<wire::CaptureEntry> entries(4, Watermark("a", 1));
  entries[1].mutable_input()->set_job("a");
  entries[1].mutable_input()->set_received_wall_ns(2);
  entries[2].mutable_reset()->set_job("a");
  entries[2].mutable_reset()->set_wall_ns(3);
  entries[3].mutable_conclusion()->set_job("a");
  entries[3].mutable_conclusion()->set_wall_ns(4);
  LogChunkBuilder builder;
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(JobOf(entries[i]), "a");
    EXPECT_EQ(WallNanosOf(entries[i]), static_cast<int64_t>(i) + 1);
    ASSERT_TRUE(builder.Add(entries[i]));
  }
  const auto decoded = DecodeLogChunk(builder.Seal());
  ASSERT_OK(decoded);
  ASSERT_EQ(decoded->size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ((*decoded)[i].SerializeAsString(), entries[i].SerializeAsString());
  }
  EXPECT_EQ(JobOf(wire::CaptureEntry()), "");
}

TEST(LogChunkTest, AChunkRefusesToSpanTooLongToGoBackAndToGrowTooLarge) {
  LogChunkBuilder builder;
  ASSERT_TRUE(builder.Add(Watermark("a", 10)));
  EXPECT_TRUE(builder.Add(Watermark("a", 10 + kMaxLogChunkSpanNanos)));
  EXPECT_FALSE(builder.Add(Watermark("a", 11 + kMaxLogChunkSpanNanos)));
  EXPECT_FALSE(builder.Add(Watermark("a", 9)));
  builder.Seal();
  wire::CaptureEntry large = Watermark(std::string(600'000, 'j'), 1);
  ASSERT_TRUE(builder.Add(large));
  EXPECT_FALSE(builder.Add(large));
  EXPECT_EQ(DecodeLogChunk(builder.Seal()).value().size(), 1u);
}

TEST(LogChunkTest, BadBytesAreDataLoss) {
  LogChunkBuilder builder;
  ASSERT_TRUE(builder.Add(Watermark("a", 5)));
  const std::string bytes = builder.Seal();
  ExpectOnlyTheWholeDecodes(bytes, DecodeLogChunk);
  std::string boasting = bytes;
  boasting[13] = '\x7f';  // the size of the payload
  EXPECT_THAT(DecodeLogChunk(boasting), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("impossible size")));
  std::string disagreeing = bytes;
  disagreeing[16] = '\x0c';
  EXPECT_THAT(DecodeLogChunk(disagreeing), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("disagrees")));
}

}  // namespace
}  // namespace lockstep
