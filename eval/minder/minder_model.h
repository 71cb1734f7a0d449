// What `lockstep train` leaves behind: the denoisers of Minder and the order in which it looks at metrics; and its
// file.
//
// File, version 1, little-endian: "LKSMNDR1"; u32 number of metrics; per metric u32 length of the name, the name,
// f64 mean squared error, and a network; u32 1 and a network of as many features as there are metrics, or u32 0; u64
// FNV-1a hash of everything before it. A network is u32 features, u32 number of parameters, that many f32. Changing a
// single byte always changes the hash. Pure; values thread-compatible.

#ifndef LOCKSTEP_EVAL_MINDER_MINDER_MODEL_H_
#define LOCKSTEP_EVAL_MINDER_MINDER_MODEL_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eval/minder/lstm_vae.h"

namespace lockstep {

inline constexpr size_t kMaxMinderMetrics = kMaxMinderFeatures;
inline constexpr size_t kMaxMinderNameBytes = 256;
inline constexpr size_t kMaxMinderModelBytes = 1 << 20;

struct MinderMetric {
  std::string name;
  double mean_squared_error = 0;  // of the windows it was trained on
  LstmVae network;                // of one feature
};

struct MinderModel {
  std::vector<MinderMetric> metrics;  // first = looked at first; names differ
  std::optional<LstmVae> integrated;  // feature i = metrics[i]: the variant INT
};

std::string EncodeMinderModel(const MinderModel& model);

// DATA_LOSS for anything but what EncodeMinderModel gives, FAILED_PRECONDITION for another version; one sentence each.
absl::StatusOr<MinderModel> DecodeMinderModel(absl::string_view bytes);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_MINDER_MINDER_MODEL_H_
