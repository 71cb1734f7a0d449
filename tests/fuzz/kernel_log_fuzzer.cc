// Records of the kernel log hold whatever a driver or a root process wrote.

#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "agent/sources/kernel_log/kernel_line.h"
#include "agent/sources/kernel_log/kmsg_record.h"
#include "base/check.h"

namespace {

void CheckPrintable(absl::string_view text) {
  CHECK(text.size() <= lockstep::kMaxKernelLineBytes);
  for (const char c : text) CHECK(absl::ascii_isprint(static_cast<unsigned char>(c)));
}

void CheckLine(absl::string_view line) {
  const absl::optional<lockstep::wire::KernelEvent> event = lockstep::ParseKernelLine(line);
  if (!event.has_value()) return;
  CHECK(event->kind() != lockstep::wire::KernelEvent::KIND_UNSPECIFIED);
  CHECK(event->code() >= 0);
  CHECK(event->pid() >= 0);
  CheckPrintable(event->device());
  CheckPrintable(event->text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  CheckLine(input);
  const absl::optional<lockstep::KmsgRecord> record = lockstep::ParseKmsgRecord(input);
  if (record.has_value()) CheckLine(record->text);
  return 0;
}
