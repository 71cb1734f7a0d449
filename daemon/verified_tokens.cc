#include "daemon/verified_tokens.h"

#include <openssl/sha.h>

#include <utility>

namespace lockstep {
namespace {

std::string DigestOf(absl::string_view token) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

}  // namespace

bool VerifiedTokens::Knows(absl::string_view token) const {
  const std::string digest = DigestOf(token);
  const MutexLock lock(mutex_);
  return digests_.contains(digest);
}

void VerifiedTokens::Remember(absl::string_view token) {
  std::string digest = DigestOf(token);
  const MutexLock lock(mutex_);
  if (digests_.size() >= kMaxVerifiedTokens) digests_.clear();
  digests_.insert(std::move(digest));
}

bool VerifiedTokens::TakeCheck(int64_t monotonic_ns) {
  const MutexLock lock(mutex_);
  return checks_.Take(monotonic_ns);
}

}  // namespace lockstep
