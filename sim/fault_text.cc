#include "sim/fault_text.h"

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "sim/fault_choice.h"

namespace lockstep {
namespace {

constexpr absl::string_view kMarks = ":#@*~/";

absl::Status CannotRead(absl::string_view part, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("cannot read '", part, "' in fault '", text,
                                                 "': NAME[:TARGET+TARGET...][#COUNT][@STEP][*SEVERITY][~RAMP]"
                                                 "[/DURATION]"));
}

absl::Status ReadPart(char mark, absl::string_view value, FaultSpec& fault, int32_t& count) {
  const absl::Status wrong = absl::InvalidArgumentError("");
  if (mark == '*') return absl::SimpleAtod(value, &fault.severity) ? absl::OkStatus() : wrong;
  if (mark == ':') {
    for (const absl::string_view target : absl::StrSplit(value, '+')) {
      int32_t number = 0;
      if (!absl::SimpleAtoi(target, &number)) return wrong;
      fault.targets.push_back(number);
    }
    return absl::OkStatus();
  }
  int32_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < 0) return wrong;
  if (mark == '#') count = number;
  if (mark == '@') fault.onset_step = number;
  if (mark == '~') fault.ramp_steps = number;
  if (mark == '/') fault.duration_steps = number;
  return absl::OkStatus();
}

absl::StatusOr<FaultSpec> ParseFault(absl::string_view text, const JobSpec& job, Random& random) {
  const size_t name_end = std::min(text.find_first_of(kMarks), text.size());
  const FaultInfo* const info = FindFault(text.substr(0, name_end));
  if (info == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no fault is called '", text.substr(0, name_end), "': lockstep sim --list-faults lists them"));
  }
  FaultSpec fault{.kind = info->kind, .onset_step = -1};
  int32_t count = 0;
  for (size_t at = name_end; at < text.size();) {
    const size_t end = std::min(text.find_first_of(kMarks, at + 1), text.size());
    if (!ReadPart(text[at], text.substr(at + 1, end - at - 1), fault, count).ok()) {
      return CannotRead(text.substr(at, end - at), text);
    }
    at = end;
  }
  if (count > kMaxDrawnTargets) return CannotRead(absl::StrCat("#", count), text);
  // The whole job has no target; a stall of the input hits it all unless somebody is named.
  const bool may_be_open = info->kind == FaultKind::kStorageStall && count == 0;
  const FaultSpec drawn = RandomFault(info->kind, std::max(1, count), job, random);
  if (fault.targets.empty() && !may_be_open) fault.targets = drawn.targets;
  if (fault.onset_step < 0) fault.onset_step = drawn.onset_step;
  if (absl::Status status = Validate(fault, job); !status.ok()) return status;
  return fault;
}

}  // namespace

absl::StatusOr<std::vector<FaultSpec>> ParseFaults(absl::string_view text, const JobSpec& job, uint64_t seed) {
  std::vector<FaultSpec> faults;
  Random random(seed);
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    if (faults.size() == kMaxFaults)
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxFaults, " faults"));
    ASSIGN_OR_RETURN(FaultSpec fault, ParseFault(part, job, random));
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace lockstep
