// One call of a function in a Kineto (Chrome) trace, whatever it runs on. docs/formats.md lists what is used.

#ifndef LOCKSTEP_FORMATS_KINETO_CALL_H_
#define LOCKSTEP_FORMATS_KINETO_CALL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "detector/patterns/function_kind.h"
#include "detector/patterns/rank_patterns.h"

namespace lockstep {

// Longer events are broken ones: nothing that PyTorch writes about one call comes near.
inline constexpr size_t kMaxKinetoCallBytes = size_t{5} << 18;  // 1.25 MiB

struct KinetoCall {
  enum class Type : uint8_t { kOther, kCall, kStep, kBroken };
  Type type = Type::kOther;
  FunctionKind kind = FunctionKind::kPython;
  absl::string_view name;  // valid until the next call of Parse
  uint64_t lane = 0;       // of process and thread, or of device and stream
  int64_t begin_ns = 0;    // after the base time of the trace
  int64_t duration_ns = 0;
  Utilisation counts = Utilisation::kNone;
  double utilisation = 0;
};

// Keeps the buffers of the parser from event to event. Not thread-safe.
class KinetoCallParser {
 public:
  KinetoCallParser();
  ~KinetoCallParser();
  KinetoCallParser(const KinetoCallParser&) = delete;
  KinetoCallParser& operator=(const KinetoCallParser&) = delete;

  // `text` is one JSON object with kJsonPadding readable bytes behind it. Events without a duration (flows, names of
  // threads) are kOther and are not parsed.
  KinetoCall Parse(absl::string_view text);

 private:
  struct Implementation;
  const std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_KINETO_CALL_H_
