// What an agent before this one left on disk about how far it had read: arbitrary bytes, as the point of all sources,
// as positions of rings on a ring that is whole, and as the position in the kernel's log.

#include <fcntl.h>
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/recorder/ring_writer.h"
#include "agent/sources/kernel_log/log_position.h"
#include "agent/sources/rings/ring_reader.h"
#include "agent/sources/rings/ring_snapshot.h"
#include "agent/unique_fd.h"
#include "base/check.h"
#include "proto/resume.pb.h"

namespace lockstep {
namespace {

constexpr uint32_t kCapacity = 16;

// A ring of this process, with two operations that have finished and one that has not; a path that opens it. It has no
// name that would be left behind.
std::string MakeRing() {
  static ring::RingWriter writer;
  char made[] = "/tmp/resume_point_fuzzer.XXXXXX";
  CHECK(mkdtemp(made) != nullptr);
  ring::RingOptions options;
  options.directory = made;
  options.kind = ring::RecorderKind::kMpi;
  options.operation_capacity = kCapacity;
  options.communicator_capacity = 4;
  CHECK(writer.Open(options));
  const uint32_t world = writer.FindOrAddCommunicator({.id = 7, .size = 2, .rank = 1, .name = "world"}, 100);
  const ring::OperationDescription operation = {
      .kind = ring::OperationKind::kAllReduce, .communicator = world, .bytes = 8};
  for (int i = 0; i < 2; ++i) writer.Finish(writer.Begin(operation, 200), {}, 205);
  writer.Begin(operation, 300);
  const std::string path = std::filesystem::directory_iterator(made)->path().string();
  const int ring = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  CHECK(ring >= 0);
  std::filesystem::remove_all(made);
  return absl::StrCat("/proc/self/fd/", ring);
}

void ResumeRing(wire::RingPosition position, bool is_of_this_ring) {
  static const std::string& path = *new std::string(MakeRing());
  RingRefusal refusal;
  const auto reader = RingReader::Open(UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), /*since_ns=*/0, &refusal);
  CHECK(reader != nullptr);
  if (is_of_this_ring) {
    position.set_opened_at_ns(reader->header().opened_at_ns);
    position.set_pid(reader->header().pid);
    position.set_process_start_ticks(reader->header().process_start_ticks);
  }
  const bool resumes = reader->ResumeAt(position);
  RingSnapshot snapshot;
  CHECK(reader->Poll(&snapshot).ok());
  CHECK(snapshot.finished.size() <= kCapacity && snapshot.in_flight.size() <= kCapacity);
  if (!resumes) CHECK(snapshot.finished.size() == 2);
}

void ReadLogPosition(absl::string_view bytes) {
  const auto position = ParseLogPosition(bytes);
  if (position.has_value()) CHECK(ParseLogPosition(FormatLogPosition(*position)) == position);
}

void ReadRings(absl::string_view bytes) {
  wire::RingPositions positions;
  if (!positions.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  for (const wire::RingPosition& position : positions.rings()) {
    ResumeRing(position, /*is_of_this_ring=*/false);
    ResumeRing(position, /*is_of_this_ring=*/true);
  }
}

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  lockstep::ReadLogPosition(bytes);
  lockstep::ReadRings(bytes);
  lockstep::wire::ResumePoint point;
  if (!point.ParseFromArray(data, static_cast<int>(size))) return 0;
  for (const auto& source : point.sources()) {
    lockstep::ReadLogPosition(source.position());
    lockstep::ReadRings(source.position());
  }
  return 0;
}
