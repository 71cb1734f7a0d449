#include "collector/door_audit.h"

#include <openssl/sha.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
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

void DoorAudit::TookOn(const DoorFile& file) {
  const MutexLock lock(mutex_);
  taken_on_[file.action] = {file.name, DigestOf(file.text)};
}

void DoorAudit::Look(const std::vector<DoorFile>& files) {
  for (const DoorFile& file : files) LookAt({file.action, file.name}, DigestOf(file.text));
  std::map<std::string, std::pair<std::string, std::string>> taken_on;
  {
    const MutexLock lock(mutex_);
    taken_on = taken_on_;
  }
  for (const auto& [action, file] : taken_on) {
    LookAt({action, file.first}, file.second);
  }
  has_looked_ = true;
}

void DoorAudit::LookAt(const Which& which, const std::string& digest) {
  if (which.second.empty()) return;
  const auto seen = seen_.find(which);
  if (seen != seen_.end() && seen->second == digest) return;
  const bool taken = worker_.TryRun([this, which, digest, is_first = !has_looked_] { Keep(which, digest, is_first); });
  if (taken) seen_[which] = digest;
}

void DoorAudit::Keep(const Which& which, const std::string& digest, bool is_first) {
  const std::string& action = which.first;
  const std::string& name = which.second;
  const std::string of = absl::StrCat(name, " sha256:", digest);
  if (is_first) {
    const absl::StatusOr<std::vector<wire::AuditRecord>> kept = history_.LoadAudit();
    if (kept.ok()) {
      const auto newest = std::find_if(kept->begin(), kept->end(), [&](const wire::AuditRecord& record) {
        return record.action() == action && absl::StartsWith(record.of(), absl::StrCat(name, " sha256:"));
      });
      if (newest != kept->end() && newest->of() == of) return;
    }
  }
  audit_.Note(/*by=*/"", is_first ? "file, found at the start" : "file", action, of, absl::OkStatus())
      .IgnoreError();  // who may write the file has done so already
}

}  // namespace lockstep
