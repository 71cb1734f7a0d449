#include "agent/kineto/fabric_message.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lockstep {
namespace {

// Bytes as a client on x86-64 or arm64 sends them.
const char kTypeZeros[] = "00000000000000000000000000000000000000000000000000000000";
const std::string kRegistration = absl::HexStringToBytes(
    absl::StrCat("1000000000000000", "63747874", kTypeZeros, "03000000", "39300000", "8813000000000000"));
const std::string kPoll = absl::HexStringToBytes(absl::StrCat("1800000000000000", "72657100", kTypeZeros, "02000000",
                                                              "02000000", "8813000000000000", "39300000", "01000000"));

FabricRefusal Refusal(const std::string& datagram) {
  FabricMessage message;
  return ParseFabricMessage(datagram, message);
}

// `bytes` with those from `offset` on replaced.
std::string With(std::string bytes, size_t offset, const std::string& hex) {
  const std::string other = absl::HexStringToBytes(hex);
  return bytes.replace(offset, other.size(), other);
}

TEST(FabricMessageTest, ReadsARegistration) {
  FabricMessage message;
  ASSERT_EQ(ParseFabricMessage(kRegistration, message), FabricRefusal::kNone);
  EXPECT_EQ(message.kind, FabricMessage::Kind::kRegistration);
  EXPECT_EQ(message.device, 3);
  EXPECT_EQ(message.pid, 12345);
  EXPECT_EQ(message.job, 5000);
}

TEST(FabricMessageTest, ReadsAPollWhoseFirstPidIsItsSender) {
  FabricMessage message;
  ASSERT_EQ(ParseFabricMessage(kPoll, message), FabricRefusal::kNone);
  EXPECT_EQ(message.kind, FabricMessage::Kind::kPoll);
  EXPECT_EQ(message.pid, 12345);
  EXPECT_EQ(message.job, 5000);
}

TEST(FabricMessageTest, EveryCutIsRefused) {
  for (size_t size = 0; size < kRegistration.size(); ++size) {
    EXPECT_EQ(Refusal(kRegistration.substr(0, size)),
              size < kFabricHeaderBytes ? FabricRefusal::kTooShort : FabricRefusal::kWrongSize);
  }
  for (size_t size = 0; size < kPoll.size(); ++size) {
    EXPECT_NE(Refusal(kPoll.substr(0, size)), FabricRefusal::kNone);
  }
}

TEST(FabricMessageTest, RefusesWhatIsNotInTheProtocolWithAReason) {
  EXPECT_EQ(Refusal(kRegistration + "x"), FabricRefusal::kWrongSize);
  EXPECT_EQ(Refusal(std::string(kMaxFabricDatagramBytes + 1, '\0')), FabricRefusal::kTooLong);
  EXPECT_EQ(Refusal(With(kRegistration, 8, "64617461")), FabricRefusal::kUnknownType) << "data";
  EXPECT_EQ(Refusal(With(kRegistration, 12, "32")), FabricRefusal::kUnknownType) << "ctxt2";
  EXPECT_EQ(Refusal(With(kRegistration, 8, std::string(64, 'a'))), FabricRefusal::kUnknownType) << "not terminated";
  EXPECT_EQ(Refusal(With(kRegistration, 0, "ffffffffffffffff")), FabricRefusal::kWrongSize);
  EXPECT_EQ(Refusal(With(kRegistration, 40, "feffffff")), FabricRefusal::kBadContents) << "device -2";
  EXPECT_EQ(Refusal(With(kRegistration, 44, "00000000")), FabricRefusal::kBadContents) << "pid 0";
  EXPECT_EQ(Refusal(With(kRegistration, 44, "ffffffff")), FabricRefusal::kBadContents) << "pid -1";
  EXPECT_EQ(Refusal(With(kPoll, 44, "00000000")), FabricRefusal::kBadContents) << "no pid";
  EXPECT_EQ(Refusal(With(kPoll, 44, "03000000")), FabricRefusal::kBadContents) << "more pids than there are";
  EXPECT_EQ(Refusal(With(kPoll, 44, "ffffff7f")), FabricRefusal::kBadContents) << "2^31 - 1 pids";
  EXPECT_EQ(Refusal(With(kPoll, 56, "00000000")), FabricRefusal::kBadContents) << "pid 0";
  // A registration whose body is that of a poll, as of a client of another layout.
  EXPECT_EQ(Refusal(With(kPoll, 8, "63747874")), FabricRefusal::kBadContents);
}

TEST(FabricMessageTest, AnswersHaveTheTypeOfTheirQuestion) {
  EXPECT_EQ(FabricAnswer(FabricMessage::Kind::kRegistration, FabricCount(2)),
            absl::HexStringToBytes(absl::StrCat("0400000000000000", "63747874", kTypeZeros, "02000000")));
  EXPECT_EQ(FabricAnswer(FabricMessage::Kind::kPoll, ""),
            absl::HexStringToBytes(absl::StrCat("0000000000000000", "72657100", kTypeZeros)));
}

}  // namespace
}  // namespace lockstep
