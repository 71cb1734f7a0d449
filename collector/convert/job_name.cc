#include "collector/convert/job_name.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"

namespace lockstep {
namespace {

constexpr absl::string_view kFingerprintPrefix = "nccl-";
constexpr absl::string_view kPodPrefix = "k8s-";
// Steps of an allocation that run torchrun on one node each are named by the place, too.
constexpr absl::string_view kPlacePrefixes[] = {"torch-", "slurm-"};
constexpr absl::string_view kTorchWithoutName = "torch-none";
constexpr size_t kHexDigits = 16;
constexpr size_t kMaxPortDigits = 5;
constexpr char kOwnerMark = '@';
constexpr absl::string_view kRunForm = "-ddddddddTddddddZ";  // d = a digit

// `job` without what JobNameOfOwner has added. Neither ports nor communicators have a mark.
absl::string_view WithoutOwner(absl::string_view job) { return job.substr(0, job.rfind(kOwnerMark)); }

bool IsPlace(absl::string_view job) {
  job = PlaceOfJobName(job);
  if (std::none_of(std::begin(kPlacePrefixes), std::end(kPlacePrefixes),
                   [job](absl::string_view prefix) { return absl::StartsWith(job, prefix); })) {
    return false;
  }
  const size_t colon = job.rfind(':');
  if (colon == absl::string_view::npos) return false;
  const absl::string_view port = job.substr(colon + 1);
  return !port.empty() && port.size() <= kMaxPortDigits &&
         port.find_first_not_of("0123456789") == absl::string_view::npos;
}

bool IsOfForm(absl::string_view text, absl::string_view form) {
  return std::equal(text.begin(), text.end(), form.begin(), form.end(), [](char given, char wanted) {
    return wanted == 'd' ? absl::ascii_isdigit(static_cast<unsigned char>(given)) : given == wanted;
  });
}

}  // namespace

std::string JobNameOfRun(absl::string_view place, int64_t wall_ns) {
  return absl::StrCat(place, absl::FormatTime("-%Y%m%dT%H%M%SZ", absl::FromUnixNanos(wall_ns), absl::UTCTimeZone()));
}

absl::string_view PlaceOfJobName(absl::string_view job) {
  const absl::string_view run = WithoutOwner(job);
  if (run.size() < kRunForm.size()) return run;
  const size_t place = run.size() - kRunForm.size();
  return IsOfForm(run.substr(place), kRunForm) ? run.substr(0, place) : run;
}

absl::optional<uint64_t> CommunicatorOfJobName(absl::string_view job) {
  job = WithoutOwner(job);
  if (absl::ConsumePrefix(&job, kPodPrefix)) {
    const size_t slash = job.find('/');
    if (slash == absl::string_view::npos) return absl::nullopt;
    job.remove_prefix(slash + 1);
  }
  const bool is_one = absl::ConsumePrefix(&job, kFingerprintPrefix) && job.size() == kHexDigits &&
                      job.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
  uint64_t communicator = 0;
  if (!is_one || !absl::SimpleHexAtoi(job, &communicator)) return absl::nullopt;
  return communicator;
}

JobNameKind KindOfJobName(absl::string_view job) {
  if (job.empty() || job == kTorchWithoutName) return JobNameKind::kNone;
  if (CommunicatorOfJobName(job).has_value()) return JobNameKind::kFingerprint;
  return IsPlace(job) ? JobNameKind::kPlace : JobNameKind::kChosen;
}

std::string FingerprintJobName(absl::string_view name_space, uint64_t communicator) {
  const std::string name = absl::StrCat(kFingerprintPrefix, absl::Hex(communicator, absl::kZeroPad16));
  return name_space.empty() ? name : absl::StrCat(kPodPrefix, name_space, "/", name);
}

std::string JobNameOfOwner(absl::string_view name, absl::string_view name_space, int64_t uid) {
  const absl::string_view mark(&kOwnerMark, 1);
  if (!name_space.empty()) return absl::StrCat(name, mark, name_space);
  return uid < 0 ? "" : absl::StrCat(name, mark, "uid", uid);
}

}  // namespace lockstep
