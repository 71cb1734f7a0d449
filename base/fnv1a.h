// FNV-1a with 64 bits: the same number for the same bytes on every machine and in every release. For keys, shards and
// seeds; no protection against anybody who wants a collision. Pure functions; thread-safe.

#ifndef LOCKSTEP_BASE_FNV1A_H_
#define LOCKSTEP_BASE_FNV1A_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace lockstep {

// The offset basis: the hash of nothing.
inline constexpr uint64_t kFnv1aOfNothing = 0xcbf29ce484222325;

// `hash` of what came before, one more byte of which follows; or, where all units are numbers, one more of these.
inline uint64_t Fnv1a(uint64_t hash, uint64_t unit) {
  constexpr uint64_t kPrime = 0x100000001b3;
  return (hash ^ unit) * kPrime;
}

inline uint64_t Fnv1a(uint64_t hash, absl::string_view text) {
  for (const char byte : text) hash = Fnv1a(hash, static_cast<uint64_t>(static_cast<unsigned char>(byte)));
  return hash;
}

inline uint64_t Fnv1a(absl::string_view text) { return Fnv1a(kFnv1aOfNothing, text); }

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_FNV1A_H_
