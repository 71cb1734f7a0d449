#include "collector/door_audit.h"

#include <openssl/sha.h>

#include <algorithm>
#include <utility>

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

DoorAudit::Digests DoorAudit::InForce(const std::vector<DoorFile>& files) {
  Digests digests;
  for (const DoorFile& file : files) digests[{file.action, file.name}] = DigestOf(file.text);
  const MutexLock lock(mutex_);
  for (const auto& [action, file] : taken_on_) digests[{action, file.first}] = file.second;
  return digests;
}

void DoorAudit::Look(const std::vector<DoorFile>& files) {
  Digests told;
  bool is_full = false;
  for (const auto& [which, digest] : InForce(files)) {
    if (which.second.empty()) continue;
    const auto before = told_.find(which);
    const bool is_told = before != told_.end() && before->second == digest;
    const auto keep = [this, which = which, digest = digest, is_first = !has_looked_] {
      Keep(which, digest, is_first);
    };
    if (is_told || worker_.TryRun(keep)) {
      told[which] = digest;
    } else {
      is_full = true;
    }
  }
  told_ = std::move(told);
  has_looked_ = has_looked_ || !is_full;
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
