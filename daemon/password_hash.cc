#include "daemon/password_hash.h"

#include <crypt.h>

#include <memory>

namespace lockstep {

bool EqualsInConstantTime(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

bool MatchesHash(const std::string& password, const std::string& hash) {
  if (password.find('\0') != std::string::npos) return false;  // crypt(3) would see its beginning alone
  const auto data = std::make_unique<crypt_data>();            // 32 KiB: too much for a stack
  const char* made = crypt_r(password.c_str(), hash.c_str(), data.get());
  // A failure is told by a text that begins with '*' and is no hash.
  return made != nullptr && made[0] != '*' && EqualsInConstantTime(made, hash);
}

}  // namespace lockstep
