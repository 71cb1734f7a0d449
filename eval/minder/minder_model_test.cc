#include "eval/minder/minder_model.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "base/random.h"
#include "eval/minder/lstm_vae.h"
#include "eval/minder/testing/lstm_vae_reference.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

MinderModel SomeModel() {
  MinderModel model;
  model.metrics.push_back({"gpu_power_watts", 0.25, RandomLstmVae(1, 1, 1)});
  model.metrics.push_back({"host_cpu_busy_ratio", 1e-4, RandomLstmVae(1, 1, 2)});
  model.integrated = RandomLstmVae(2, 1, 3);
  return model;
}

void ExpectSame(const MinderModel& a, const MinderModel& b) {
  ASSERT_EQ(a.metrics.size(), b.metrics.size());
  for (size_t i = 0; i < a.metrics.size(); ++i) {
    EXPECT_EQ(a.metrics[i].name, b.metrics[i].name);
    EXPECT_EQ(a.metrics[i].mean_squared_error, b.metrics[i].mean_squared_error);
    EXPECT_EQ(a.metrics[i].network.parameters, b.metrics[i].network.parameters);
  }
  ASSERT_EQ(a.integrated.has_value(), b.integrated.has_value());
  if (a.integrated.has_value()) {
    EXPECT_EQ(a.integrated->parameters, b.integrated->parameters);
  }
}

TEST(MinderModelTest, ComesBackAsItWas) {
  MinderModel model = SomeModel();
  const absl::StatusOr<MinderModel> whole = DecodeMinderModel(EncodeMinderModel(model));
  ASSERT_TRUE(whole.ok()) << whole.status();
  ExpectSame(model, *whole);
  model.integrated.reset();
  const absl::StatusOr<MinderModel> single = DecodeMinderModel(EncodeMinderModel(model));
  ASSERT_TRUE(single.ok()) << single.status();
  ExpectSame(model, *single);
}

TEST(MinderModelTest, GoldenBytes) {
  EXPECT_EQ(absl::BytesToHexString(EncodeMinderModel({})), "4c4b534d4e44523100000000000000009765db278c392fa4");
  // One metric: what stands around its 389 parameters.
  MinderModel model;
  model.metrics.push_back({"ab", 0.5, {.parameters = std::vector<float>(LstmVaeLayout(1).size, 1.0F)}});
  const std::string bytes = EncodeMinderModel(model);
  ASSERT_EQ(bytes.size(), 8 + 4 + 4 + 2 + 8 + 4 + 4 + 389 * 4 + 4 + 8);
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(8, 30)),
            "01000000020000006162000000000000e03f01000000850100000000803f");
}

TEST(MinderModelTest, EveryTruncationAndEveryFlippedByteIsRefused) {
  const std::string bytes = EncodeMinderModel(SomeModel());
  for (size_t length = 0; length < bytes.size(); length += length < 64 ? 1 : 37) {
    EXPECT_FALSE(DecodeMinderModel(bytes.substr(0, length)).ok()) << length;
  }
  for (size_t at = 0; at < bytes.size(); at += at < 64 ? 1 : 41) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_EQ(DecodeMinderModel(flipped).status().code(), absl::StatusCode::kDataLoss) << at;
  }
  EXPECT_FALSE(DecodeMinderModel(bytes + "x").ok());
}

// Bytes that end in a right checksum, so that what lies behind it is reached.
std::string Sealed(std::string body) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char byte : body) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001B3u;
  for (int i = 0; i < 8; ++i) body.push_back(static_cast<char>(hash >> (8 * i) & 0xFF));
  return body;
}

TEST(MinderModelTest, SaysWhatIsWrong) {
  const std::string whole = EncodeMinderModel(SomeModel());
  const std::string body = whole.substr(0, whole.size() - 8);
  ASSERT_EQ(Sealed(body), whole);
  std::string other = body;
  other[7] = '2';
  EXPECT_EQ(DecodeMinderModel(Sealed(other)).status().code(), absl::StatusCode::kFailedPrecondition);
  other = body;
  other[8] = 33;  // metrics
  EXPECT_EQ(DecodeMinderModel(Sealed(other)).status().message(), "not a Minder model: 33 metrics");
  other = body;
  other[15] = 127;  // length of the first name
  EXPECT_EQ(DecodeMinderModel(Sealed(other)).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(DecodeMinderModel(Sealed(body + "x")).ok());
}

TEST(MinderModelTest, RefusesWhatIsNotFiniteAndNamesTwice) {
  MinderModel model = SomeModel();
  model.metrics[0].network.parameters[5] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(DecodeMinderModel(EncodeMinderModel(model)).ok());
  model = SomeModel();
  model.metrics[1].name = model.metrics[0].name;
  EXPECT_EQ(DecodeMinderModel(EncodeMinderModel(model)).status().message(),
            "not a Minder model: two metrics of one name");
}

TEST(MinderModelTest, NoBytesAreTooWild) {
  Random random(6);
  for (int i = 0; i < 2000; ++i) {
    std::string body = "LKSMNDR1";
    for (uint64_t left = random.Below(60); left > 0; --left) body.push_back(static_cast<char>(random.Below(4)));
    const auto decoded = DecodeMinderModel(Sealed(body));
    if (decoded.ok()) {
      EXPECT_EQ(EncodeMinderModel(*decoded), Sealed(body));
    }
  }
}

}  // namespace
}  // namespace lockstep
