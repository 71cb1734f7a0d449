// What the agent needs of memory while it reads a trace, whatever a job has written: measured, with the limits that the
// agent has.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/profiles/profiler.h"
#include "base/check.h"
#include "formats/byte_source.h"
#include "formats/kineto_profile.h"

namespace lockstep {
namespace {

constexpr int64_t kMostBytes = int64_t{64} << 20;
constexpr int64_t kKilobyte = 1024;

// The pieces that `next` gives, until it gives none. Not thread-safe.
class Pieces final : public std::streambuf {
 public:
  explicit Pieces(std::function<std::string()> next) : next_(std::move(next)) {}

 protected:
  int_type underflow() override {
    piece_ = next_();
    if (piece_.empty()) return traits_type::eof();
    setg(piece_.data(), piece_.data(), piece_.data() + piece_.size());
    return traits_type::to_int_type(*gptr());
  }

 private:
  const std::function<std::string()> next_;
  std::string piece_;
};

class PieceStream final : public std::istream {
 public:
  explicit PieceStream(std::function<std::string()> next) : std::istream(nullptr), pieces_(std::move(next)) {
    rdbuf(&pieces_);
  }

 private:
  Pieces pieces_;
};

struct Trace {
  size_t calls = 0;
  size_t names = 1;
  size_t name_bytes = 20;
  bool is_whole = true;
};

std::string Call(const Trace& trace, size_t i) {
  const std::string number = absl::StrCat(i % trace.names);
  const std::string name = std::string(trace.name_bytes - std::min(trace.name_bytes, number.size()), 'x') + number;
  return absl::StrCat(i == 0 ? "" : ",\n", R"({"ph": "X", "cat": ")", i % 2 == 0 ? "kernel" : "cpu_op",
                      R"(", "name": ")", name, R"(", "pid": 0, "tid": )", 7 + i % 2, R"(, "ts": )", 10 * i,
                      R"(, "dur": 9.5, "args": )",
                      R"({"stream": 7, "correlation": 12345, "est. achieved occupancy %": 50, "grid": [1, 2, 3]}})");
}

ProfileResult ReadTrace(const Trace& trace) {
  const auto next = [&trace, i = size_t{0}]() mutable -> std::string {
    const size_t at = i++;
    if (at == 0) return R"({"schemaVersion": 1, "traceEvents": [)";
    if (at <= trace.calls) return Call(trace, at - 1);
    return at == trace.calls + 1 && trace.is_whole ? "]}\n" : "";
  };
  const auto source = ByteSource::FromStream(std::make_unique<PieceStream>(next));
  CHECK(source.ok());
  return ReadKinetoProfile("trace.json", **source, Profiler::kLimits);
}

// The most memory that a process has which does `work`, and nothing else but what this one has done.
int64_t PeakBytes(const std::function<bool()>& work) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  rusage usage = {};
  CHECK(wait4(child, &status, 0, &usage) == child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "what came of the trace is not what was expected";
  return usage.ru_maxrss * kKilobyte;
}

void ExpectBounded(const Trace& trace) {
#ifdef LOCKSTEP_SANITIZED
  GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
  const int64_t idle = PeakBytes([] { return true; });
  const int64_t peak = PeakBytes([&trace] {
    const ProfileResult result = ReadTrace(trace);
    return result.status.ok() == trace.is_whole && result.patterns.window_seconds > 0;
  });
  EXPECT_LE(peak - idle, kMostBytes);
  ::testing::Test::RecordProperty("peak_bytes", std::to_string(peak - idle));
}

TEST(TraceMemoryTest, OfManyCalls) { ExpectBounded({.calls = 600'000, .names = 300}); }

TEST(TraceMemoryTest, OfAMillionFunctions) { ExpectBounded({.calls = 1'000'000, .names = 1'000'000}); }

TEST(TraceMemoryTest, OfNamesOfAMegabyte) {
  ExpectBounded({.calls = 200, .names = 200, .name_bytes = size_t{1} << 20});
}

TEST(TraceMemoryTest, OfATraceThatIsCutOff) { ExpectBounded({.calls = 300'000, .names = 5'000, .is_whole = false}); }

}  // namespace
}  // namespace lockstep
