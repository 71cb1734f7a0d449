// Bytes in and out of files: compression by content, damage by offset, lines, whole files, and files that appear whole.

#include "formats/byte_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/random.h"
#include "base/testing/status_matchers.h"
#include "base/testing/temporary_directory.h"
#include "formats/file_writer.h"
#include "formats/line_reader.h"
#include "formats/testing/test_bytes.h"
#include "formats/whole_file.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr size_t kPlenty = size_t{64} << 20;

std::string RandomText(size_t size, uint64_t seed) {
  Random random(seed);
  std::string text;
  while (text.size() < size) absl::StrAppend(&text, random.Below(1000), ",", random.Below(3), "\n");
  text.resize(size);
  return text;
}

// Everything, by reads of random sizes.
absl::StatusOr<std::string> ReadInPieces(ByteSource& source, Random& random) {
  std::string all;
  std::string piece(1 << 16, '\0');
  while (true) {
    const size_t wanted = 1 + random.Below(random.Below(4) == 0 ? piece.size() : 50);
    const absl::StatusOr<size_t> count = source.Read(piece.data(), wanted);
    if (!count.ok()) return count.status();
    if (*count == 0) return all;
    EXPECT_LE(*count, wanted);
    all.append(piece, 0, *count);
  }
}

TEST(ByteSourceContentTest, TheContentDecidesWhatIsDecompressed) {
  const TemporaryDirectory directory;
  const std::string plain = RandomText(3'000, 1);
  const std::string cases[][2] = {{"plain.gz", plain},
                                  {"gzip.csv", Gzipped(plain)},
                                  {"zstd.csv.gz", Zstandard(plain)},
                                  {"gzip.zst", Gzipped(plain)},
                                  {"no-ending", Zstandard(plain)}};
  for (const auto& [name, bytes] : cases) {
    const std::string path = directory.Write(name, bytes);
    EXPECT_EQ(*ReadWhole(**ByteSource::Open(path), kPlenty), plain) << name;
  }
}

TEST(ByteSourceContentTest, PiecesOfAnySizeGiveTheSameBytes) {
  Random random(5);
  for (const size_t size : {0, 1, 2, 3, 255, 70'000, 262'143, 262'144, 262'145, 900'000}) {
    const std::string plain = RandomText(size, size);
    for (const std::string& bytes : {plain, Gzipped(plain), Zstandard(plain)}) {
      const auto source = SourceOf(bytes);
      const absl::StatusOr<std::string> read = ReadInPieces(*source, random);
      ASSERT_OK(read);
      EXPECT_TRUE(*read == plain) << size;
      char more = 0;
      EXPECT_EQ(*source->Read(&more, 1), 0u);  // the end stays the end
      EXPECT_EQ(*source->Read(&more, 0), 0u);
    }
  }
}

TEST(ByteSourceContentTest, MembersAndFramesFollowOneAnother) {
  const std::string a = RandomText(100'000, 2), b = RandomText(5, 3);
  EXPECT_EQ(*ReadWhole(*SourceOf(Gzipped(a) + Gzipped("") + Gzipped(b)), kPlenty), a + b);
  EXPECT_EQ(*ReadWhole(*SourceOf(Zstandard(a) + Zstandard("") + Zstandard(b)), kPlenty), a + b);
  const std::string skipped("\x50\x2A\x4D\x18\x03\x00\x00\x00xyz", 11);
  EXPECT_EQ(*ReadWhole(*SourceOf(Zstandard(a) + skipped + Zstandard(b)), kPlenty), a + b);
}

TEST(ByteSourceContentTest, EveryCutOfACompressedFileIsSeen) {
  const std::string plain = RandomText(400, 4);
  for (const std::string& bytes : {Gzipped(plain), Zstandard(plain)}) {
    for (size_t size = 4; size < bytes.size(); ++size) {
      EXPECT_THAT(ReadWhole(*SourceOf(bytes.substr(0, size)), kPlenty),
                  StatusIs(absl::StatusCode::kDataLoss,
                           absl::StrCat("compressed data damaged near byte ", size,
                                        ": expected more compressed data, found the end of the file")));
    }
  }
}

TEST(ByteSourceContentTest, NoFlippedByteGivesOtherBytes) {
  const std::string plain = RandomText(2'000, 6);
  Random random(6);
  for (const std::string& bytes : {Gzipped(plain), Zstandard(plain)}) {
    for (int round = 0; round < 200; ++round) {
      std::string broken = bytes;
      broken[4 + random.Below(broken.size() - 4)] ^= static_cast<char>(1u << random.Below(8));
      const absl::StatusOr<std::string> read = ReadWhole(*SourceOf(broken), kPlenty);
      if (read.ok()) {
        EXPECT_EQ(*read, plain);  // a byte that means nothing, such as the time in a gzip header
      } else {
        EXPECT_THAT(read, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("compressed data damaged near byte ")));
      }
    }
  }
}

TEST(ByteSourceContentTest, BytesBehindTheLastFrameAreDamage) {
  for (const std::string& bytes : {Gzipped("abc"), Zstandard("abc")}) {
    EXPECT_THAT(ReadWhole(*SourceOf(bytes + "garbage, and more of it"), kPlenty),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("compressed data damaged near byte ")));
  }
}

TEST(ByteSourceContentTest, ASmallFileDoesNotBecomeAHugeOne) {
  const std::string frame = Zstandard(std::string(size_t{64} << 20, '\0'));
  ASSERT_LT(frame.size(), 10'000u);
  std::string bomb;
  for (int i = 0; i < 40; ++i) bomb += frame;  // 2.5 GiB
  const auto source = SourceOf(bomb);
  std::string piece(1 << 20, '\0');
  uint64_t plain_bytes = 0;
  absl::Status status;
  while (true) {
    const absl::StatusOr<size_t> count = source->Read(piece.data(), piece.size());
    status = count.status();
    if (!count.ok() || *count == 0) break;
    plain_bytes += *count;
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("expands by more than 2000")));
  EXPECT_LE(plain_bytes, kFreeExpansionBytes + kMaxExpansion * bomb.size());
  EXPECT_GT(plain_bytes, kFreeExpansionBytes / 2);
}

TEST(ByteSourceContentTest, SaysWhyAFileCannotBeOpened) {
  const TemporaryDirectory directory;
  EXPECT_THAT(ByteSource::Open(directory.path() / "absent"),
              StatusIs(absl::StatusCode::kFailedPrecondition, "cannot open: No such file or directory"));
  EXPECT_THAT(ByteSource::Open(directory.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition, "cannot open: not a regular file"));
  const std::string pipe = directory.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ByteSource::Open(pipe),  // must not wait for a writer
              StatusIs(absl::StatusCode::kFailedPrecondition, "cannot open: not a regular file"));
}

TEST(ByteSourceContentTest, ProgressCountsTheBytesOfTheFile) {
  Random random(8);
  std::string noise(1'000'000, '\0');
  for (char& c : noise) c = static_cast<char>(random.Next());
  for (const std::string& bytes : {"plain" + noise, Zstandard(noise)}) {
    const auto source = SourceOf(bytes);
    std::vector<uint64_t> told;
    source->ReportProgress([&told](uint64_t read) { told.push_back(read); });
    ASSERT_OK(ReadWhole(*source, kPlenty));
    ASSERT_GE(told.size(), 3u);
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    EXPECT_EQ(told.back(), bytes.size());
  }
}

TEST(WholeFileTest, TheLimitIsInclusive) {
  for (const size_t size : {0, 1, 300'000, 600'000}) {
    const std::string text = RandomText(size, 9);
    EXPECT_EQ(*ReadWhole(*SourceOf(text), size), text);
    EXPECT_THAT(ReadWhole(*SourceOf(text + "x"), size),
                StatusIs(absl::StatusCode::kDataLoss, absl::StrCat("expected at most ", size, " bytes, found more")));
  }
}

std::vector<std::string> LinesOf(const std::string& text) {
  const auto source = SourceOf(text);
  LineReader reader(*source);
  std::vector<std::string> lines;
  absl::string_view line;
  while (true) {
    const absl::StatusOr<bool> more = reader.Next(line);
    EXPECT_OK(more);
    if (!more.ok() || !*more) break;
    lines.emplace_back(line);
    EXPECT_EQ(reader.line_number(), lines.size());
  }
  return lines;
}

TEST(LineReaderTest, KnowsLineEndsAndTheByteOrderMark) {
  using Lines = std::vector<std::string>;
  const struct {
    const char* text;
    Lines lines;
  } cases[] = {
      {"", {}},
      {"\n", {""}},
      {"a", {"a"}},
      {"a\n", {"a"}},
      {"a\r\nb\r\n", {"a", "b"}},
      {"a\r\n\r\n\nb", {"a", "", "", "b"}},
      {"a\rb\n", {"a\rb"}},  // an old Mac's line end is none
      {"a\r\r\n", {"a\r"}},  // one carriage return belongs to the line end
      {"\xef\xbb\xbfx\n\xef\xbb\xbfy", {"x", "\xef\xbb\xbfy"}},
      {"\xef\xbb\xbf", {""}},
  };
  for (const auto& [text, lines] : cases) EXPECT_EQ(LinesOf(text), lines) << text;
}

TEST(LineReaderTest, SplitsAsASlowSplitterDoes) {
  Random random(10);
  for (int round = 0; round < 8; ++round) {
    std::string text;
    std::vector<std::string> expected;
    while (text.size() < (size_t{3} << 20)) {  // several buffers
      const size_t length = random.Below(20) == 0 ? random.Below(kMaxLineBytes - 1) : random.Below(300);
      expected.emplace_back(length, static_cast<char>('a' + random.Below(26)));
      text += expected.back() + (random.Below(2) == 0 ? "\n" : "\r\n");
    }
    EXPECT_TRUE(LinesOf(text) == expected) << round;
  }
}

TEST(LineReaderTest, ALineHasALimit) {
  const std::string longest(kMaxLineBytes, 'x');
  EXPECT_EQ(LinesOf("a\n" + longest + "\nb"), (std::vector<std::string>{"a", longest, "b"}));
  const auto source = SourceOf("a\n" + longest + "y\nb");
  LineReader reader(*source);
  absl::string_view line;
  EXPECT_TRUE(*reader.Next(line));
  EXPECT_THAT(reader.Next(line), StatusIs(absl::StatusCode::kDataLoss,
                                          "line 2: expected at most 1048576 bytes, found more without a line end"));
}

TEST(FileWriterTest, TheFileAppearsWholeOrNotAtAll) {
  const TemporaryDirectory directory;
  const std::string text = RandomText(700'000, 11);
  for (const char* name : {"a.csv", "a.csv.gz", "a.csv.zst"}) {
    const std::string path = directory.path() / name;
    {
      auto abandoned = FileWriter::Create(path);
      ASSERT_OK(abandoned);
      ASSERT_OK((*abandoned)->Append(text));
      EXPECT_FALSE(std::filesystem::exists(path)) << "appears in Close only";
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory.path())) << "nothing is left of what was not closed";
    auto writer = FileWriter::Create(path);
    ASSERT_OK(writer);
    Random random(12);
    for (size_t at = 0; at < text.size();) {
      const size_t length = std::min<size_t>(text.size() - at, random.Below(100'000));
      ASSERT_OK((*writer)->Append(absl::string_view(text).substr(at, length)));
      at += length;
    }
    ASSERT_OK((*writer)->Close());
    EXPECT_TRUE(*ReadWhole(**ByteSource::Open(path), kPlenty) == text) << name;
    std::filesystem::remove(path);
  }
}

TEST(FileWriterTest, TheEndingDecidesAndTheSameBytesGiveTheSameFile) {
  const TemporaryDirectory directory;
  const auto written = [&](const std::string& name) {
    auto writer = *FileWriter::Create(directory.path() / name);
    EXPECT_OK(writer->Append("hello"));
    EXPECT_OK(writer->Close());
    return BytesOfFile(directory.path() / name);
  };
  EXPECT_EQ(written("x.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(written("x.zst").substr(0, 4), "\x28\xb5\x2f\xfd");
  EXPECT_EQ(written("x.gzip"), "hello");
  EXPECT_EQ(written("a.gz"), written("b.gz"));
  EXPECT_EQ(written("empty.csv"), written("other.csv"));
}

TEST(FileWriterTest, AnExistingFileIsReplaced) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("x.csv", "old, and longer than what comes");
  auto writer = *FileWriter::Create(path);
  ASSERT_OK(writer->Append("new"));
  EXPECT_EQ(BytesOfFile(path), "old, and longer than what comes");
  ASSERT_OK(writer->Close());
  EXPECT_EQ(BytesOfFile(path), "new");
}

TEST(FileWriterTest, SaysWhyItCannotWrite) {
  EXPECT_THAT(
      FileWriter::Create("/nonexistent/x.csv"),
      StatusIs(absl::StatusCode::kFailedPrecondition, "cannot write /nonexistent/x.csv: No such file or directory"));
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() / "taken");
  auto writer = *FileWriter::Create(directory.path() / "taken");
  ASSERT_OK(writer->Append("x"));
  EXPECT_THAT(writer->Close(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("taken: Is a directory")));
}

}  // namespace
}  // namespace lockstep
