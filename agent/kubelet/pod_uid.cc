#include "agent/kubelet/pod_uid.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/text_fields.h"

namespace lockstep {
namespace {

constexpr absl::string_view kDashedPattern = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr size_t kHashDigits = 32;

bool IsHexDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f'); }

// Users make cgroups of any name there, without a container.
constexpr absl::string_view kOfUsers = "user.slice";

// Of one folder of a path: "podUID", or "kubepods-burstable-podUID.slice", where systemd wants '_' for '-'; a kubelet
// in a container puts its own name before that.
std::string UidOfFolder(absl::string_view folder) {
  if (absl::ConsumeSuffix(&folder, ".slice")) {
    absl::ConsumePrefix(&folder, "kubelet-");
    if (!absl::ConsumePrefix(&folder, "kubepods-")) return "";
    if (!absl::ConsumePrefix(&folder, "burstable-")) absl::ConsumePrefix(&folder, "besteffort-");
  }
  if (!absl::ConsumePrefix(&folder, "pod")) return "";
  std::string uid = absl::StrReplaceAll(folder, {{"_", "-"}});
  return IsPodUid(uid) ? uid : "";
}

}  // namespace

bool IsPodUid(absl::string_view text) {
  if (text.size() == kHashDigits) return std::all_of(text.begin(), text.end(), IsHexDigit);
  return text.size() == kDashedPattern.size() &&
         std::equal(text.begin(), text.end(), kDashedPattern.begin(),
                    [](char c, char pattern) { return pattern == '-' ? c == '-' : IsHexDigit(c); });
}

std::string PodUidOfCgroups(absl::string_view cgroups) {
  while (!cgroups.empty()) {
    // "4:memory:/kubepods/...", "0::/kubepods.slice/..."; a controller has no ':' in its name.
    const absl::string_view line = TakeLine(cgroups);
    const size_t controllers = line.find(':');
    const size_t path = controllers == absl::string_view::npos ? controllers : line.find(':', controllers + 1);
    if (path == absl::string_view::npos) continue;
    for (const absl::string_view folder : absl::StrSplit(line.substr(path + 1), '/')) {
      if (folder == kOfUsers) break;
      std::string uid = UidOfFolder(folder);
      if (!uid.empty()) return uid;
    }
  }
  return "";
}

}  // namespace lockstep
