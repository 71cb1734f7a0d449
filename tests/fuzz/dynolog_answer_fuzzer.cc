// Whoever listens on dynolog's port may answer anything, and the process that is asked about chose its environment.
//
// Input: the pid that was asked about (4 bytes, of the machine), and the JSON of the answer.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "agent/kineto/dynolog_message.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  lockstep::DynologProcess process;
  if (size < sizeof(process.pid)) return 0;
  std::memcpy(&process.pid, data, sizeof(process.pid));
  const absl::string_view input(reinterpret_cast<const char*>(data) + sizeof(process.pid), size - sizeof(process.pid));
  const absl::Status status = lockstep::ReadDynologAnswer(process, input);
  CHECK(status.ok() == status.message().empty());
  CHECK(std::none_of(status.message().begin(), status.message().end(), absl::ascii_iscntrl));
  CHECK(status.message().size() < lockstep::kMaxDynologAnswerBytes);
  const int64_t job = lockstep::SlurmJobOf(input);
  CHECK(job >= 0);
  if (job > 0) CHECK(absl::StrContains(input, "SLURM_JOB_ID="));
  return 0;
}
