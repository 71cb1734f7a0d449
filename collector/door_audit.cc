#include "collector/door_audit.h"

#include <openssl/sha.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace lockstep {
namespace {

std::string DigestOf(const std::string& text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return absl::BytesToHexString(digest);
}

}  // namespace

void DoorAudit::Look(const std::vector<DoorFile>& files) {
  for (const DoorFile& file : files) {
    const auto seen = seen_.find(file.action);
    const bool is_first = seen == seen_.end();
    if (!is_first && seen->second == file.text) continue;
    const std::string of = absl::StrCat(file.name, " sha256:", DigestOf(file.text));
    const bool taken = worker_.TryRun([this, action = file.action, of, is_first] { Keep(action, of, is_first); });
    if (taken) seen_[file.action] = file.text;
  }
}

void DoorAudit::Keep(const std::string& action, const std::string& of, bool is_first) {
  if (is_first) {
    const absl::StatusOr<std::vector<wire::AuditRecord>> kept = history_.LoadAudit();
    if (kept.ok()) {
      const auto newest = std::find_if(kept->begin(), kept->end(),
                                       [&](const wire::AuditRecord& record) { return record.action() == action; });
      if (newest != kept->end() && newest->of() == of) return;
    }
  }
  audit_.Note(/*by=*/"", is_first ? "file, found at the start" : "file", action, of, absl::OkStatus())
      .IgnoreError();  // who may write the file has done so already
}

}  // namespace lockstep
