// What many sources include of the standard library and Abseil: compiled once, read by all. Of headers that change
// nothing may stand here. Not for including: each file includes what it uses.

#ifndef LOCKSTEP_TOOLS_CC_LIBRARY_HEADERS_H_
#define LOCKSTEP_TOOLS_CC_LIBRARY_HEADERS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#endif  // LOCKSTEP_TOOLS_CC_LIBRARY_HEADERS_H_
