#include "formats/capture_file.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

wire::CaptureEntry Watermark(int64_t wall_ns) {
  wire::CaptureEntry entry;
  entry.mutable_watermark()->set_job("demo");
  entry.mutable_watermark()->set_wall_ns(wall_ns);
  return entry;
}

std::vector<wire::CaptureEntry> SomeEntries(int count) {
  std::vector<wire::CaptureEntry> entries;
  Random random(7);
  for (int i = 0; i < count; ++i) {
    wire::CaptureEntry& entry = entries.emplace_back(Watermark(static_cast<int64_t>(random.Below(1u << 30))));
    if (i % 3 == 0) entry.mutable_reset()->set_why(std::string(random.Below(5000), static_cast<char>('a' + i % 26)));
  }
  return entries;
}

void WriteCapture(const std::string& path, const std::vector<wire::CaptureEntry>& entries) {
  auto writer = CaptureFileWriter::Create(path);
  ASSERT_OK(writer);
  for (const wire::CaptureEntry& entry : entries) ASSERT_OK((*writer)->Append(entry));
  ASSERT_OK((*writer)->Close());
  EXPECT_EQ((*writer)->entries(), entries.size());
  EXPECT_EQ((*writer)->file_bytes(), std::filesystem::file_size(path));
}

absl::Status Read(const std::string& path, std::vector<std::string>& serialized) {
  return ReadCaptureFile(path, [&](const wire::CaptureEntry& entry) {
    serialized.push_back(entry.SerializeAsString());
    return absl::OkStatus();
  });
}

std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CaptureFileTest, WhatIsWrittenIsRead) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "x.lockcap";
  for (int count : {0, 1, 2, 500}) {
    const std::vector<wire::CaptureEntry> entries = SomeEntries(count);
    WriteCapture(path, entries);
    std::vector<std::string> read;
    ASSERT_OK(Read(path, read));
    ASSERT_EQ(read.size(), entries.size());
    for (int i = 0; i < count; ++i) EXPECT_EQ(read[i], entries[i].SerializeAsString());
  }
}

TEST(CaptureFileTest, HeaderHasTheDocumentedBytes) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "x.lockcap";
  WriteCapture(path, {Watermark(1)});
  const std::string bytes = Slurp(path);
  EXPECT_EQ(bytes.substr(0, 20), std::string("\x50\x2A\x4D\x18\x0C\0\0\0LOCKCAP\n\x01\0\0\0", 20));
  EXPECT_EQ(bytes.substr(20, 4), "\x28\xB5\x2F\xFD");  // magic of a zstd frame
}

TEST(CaptureFileTest, PlainZstdDecodesTheWholeFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "x.lockcap";
  WriteCapture(path, {Watermark(5)});
  const std::string bytes = Slurp(path);
  std::string plain(1000, '\0');
  plain.resize(ZSTD_decompress(plain.data(), plain.size(), bytes.data(), bytes.size()));
  const std::string payload = Watermark(5).SerializeAsString();
  EXPECT_EQ(plain, std::string(1, static_cast<char>(payload.size())) + payload);
}

TEST(CaptureFileTest, EveryTruncationIsNamedWithItsOffset) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "whole.lockcap";
  WriteCapture(path, SomeEntries(20));
  const std::string bytes = Slurp(path);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = directory.Write("cut.lockcap", bytes.substr(0, size));
    std::vector<std::string> read;
    const absl::Status status = Read(cut, read);
    ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    ASSERT_THAT(std::string(status.message()), HasSubstr("byte ")) << size;
    if (size >= 20) {
      ASSERT_THAT(std::string(status.message()), HasSubstr("cut short at byte " + std::to_string(size)));
    }
  }
}

TEST(CaptureFileTest, FlippedBytesAreNeverRead) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "whole.lockcap";
  const std::vector<wire::CaptureEntry> entries = SomeEntries(50);
  WriteCapture(path, entries);
  const std::string bytes = Slurp(path);
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    std::string broken = bytes;
    broken[random.Below(broken.size())] ^= static_cast<char>(1 + random.Below(255));
    std::vector<std::string> read;
    const absl::Status status = Read(directory.Write("broken.lockcap", broken), read);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("byte "));
  }
}

TEST(CaptureFileTest, OtherFilesAreRefused) {
  const TemporaryDirectory directory;
  std::vector<std::string> read;
  EXPECT_THAT(Read(directory.Write("text", "hello, world, this is text"), read),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a Lockstep capture")));
  EXPECT_THAT(Read(directory.path() / "absent", read),
              StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(HasSubstr("absent"), HasSubstr("No such file"))));
  const std::string newer("\x50\x2A\x4D\x18\x0C\0\0\0LOCKCAP\n\x02\0\0\0", 20);
  EXPECT_THAT(Read(directory.Write("newer", newer), read),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("format version 2 at byte 16")));
}

TEST(CaptureFileTest, BytesAfterTheEndAreDamage) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "x.lockcap";
  WriteCapture(path, {Watermark(1)});
  const std::string bytes = Slurp(path);
  std::vector<std::string> read;
  EXPECT_THAT(Read(directory.Write("longer", bytes + "x"), read),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged at byte " + std::to_string(bytes.size()))));
}

TEST(CaptureFileTest, HugeEntryIsRefusedBeforeItIsRead) {
  const TemporaryDirectory directory;
  const std::string claim = "\xFF\xFF\xFF\x7F";  // 268,435,455 bytes
  std::string frame(100, '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), claim.data(), claim.size(), 1));
  const std::string header("\x50\x2A\x4D\x18\x0C\0\0\0LOCKCAP\n\x01\0\0\0", 20);
  std::vector<std::string> read;
  EXPECT_THAT(Read(directory.Write("huge", header + frame), read),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("entry 1 claims more than")));
}

TEST(CaptureFileTest, AnUnfinishedCaptureLeavesNothingBehind) {
  const TemporaryDirectory directory;
  {
    auto writer = CaptureFileWriter::Create(directory.path() / "x.lockcap");
    ASSERT_OK(writer);
    ASSERT_OK((*writer)->Append(Watermark(1)));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(CaptureFileTest, AFolderThatDoesNotExistIsOneClearLine) {
  EXPECT_THAT(CaptureFileWriter::Create("/nonexistent/x.lockcap"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "cannot create /nonexistent/x.lockcap: No such file or directory"));
}

TEST(CaptureFileTest, ErrorOfTheVisitorEndsTheReading) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "x.lockcap";
  WriteCapture(path, SomeEntries(5));
  int seen = 0;
  const absl::Status status = ReadCaptureFile(
      path, [&](const wire::CaptureEntry&) { return ++seen == 3 ? absl::NotFoundError("enough") : absl::OkStatus(); });
  EXPECT_EQ(status, absl::NotFoundError("enough"));
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace lockstep
