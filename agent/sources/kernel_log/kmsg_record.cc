#include "agent/sources/kernel_log/kmsg_record.h"

#include "agent/text_fields.h"

namespace lockstep {
namespace {

// Takes what is before the next comma, which later kernels may follow with fields that we do not know.
absl::string_view TakeHeaderField(absl::string_view& header) {
  const size_t end = std::min(header.find(','), header.size());
  const absl::string_view field = header.substr(0, end);
  header.remove_prefix(std::min(end + 1, header.size()));
  return field;
}

}  // namespace

absl::optional<KmsgRecord> ParseKmsgRecord(absl::string_view record) {
  absl::string_view line = TakeLine(record);
  const size_t semicolon = line.find(';');
  if (semicolon == absl::string_view::npos) return absl::nullopt;
  absl::string_view header = line.substr(0, semicolon);
  const absl::optional<uint64_t> priority = ParseCount(TakeHeaderField(header));
  const absl::optional<uint64_t> sequence = ParseCount(TakeHeaderField(header));
  const absl::optional<uint64_t> monotonic_us = ParseCount(TakeHeaderField(header));
  if (!priority.has_value() || !sequence.has_value() || !monotonic_us.has_value()) return absl::nullopt;
  return KmsgRecord{*sequence, *monotonic_us, line.substr(semicolon + 1)};
}

}  // namespace lockstep
