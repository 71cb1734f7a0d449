// What may be the name of a host where rules take it from a certificate or a token. Pure.

#ifndef LOCKSTEP_COLLECTOR_ACCESS_HOST_NAME_H_
#define LOCKSTEP_COLLECTOR_ACCESS_HOST_NAME_H_

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "collector/convert/report_limits.h"

namespace lockstep {

inline bool IsHostName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxHostBytes && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
  });
}

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_ACCESS_HOST_NAME_H_
