// One event of a Kineto (Chrome) trace, as far as communication is concerned. docs/formats.md lists what is used.

#ifndef LOCKSTEP_FORMATS_KINETO_EVENT_H_
#define LOCKSTEP_FORMATS_KINETO_EVENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "detector/model/input.h"

namespace lockstep {

// What an event says; times are nanoseconds after the base time of the trace.
struct KinetoEvent {
  enum class Type : uint8_t { kOther, kLaunch, kNcclKernel, kBroken };
  Type type = Type::kOther;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t correlation = -1;  // joins a kernel and its launch

  // Kernels only.
  OperationKind kind = OperationKind::kUnknown;
  int32_t device = -1;
  int64_t stream = -1;
  uint64_t bytes = 0;
  int64_t sequence = -1;    // -1 = not recorded
  int64_t other_side = -1;  // of a Send or Recv
  int64_t group_size = -1;
  std::string group;  // process group; "" = not recorded
  std::string description;
  std::string rank_list;       // as text; "" = not recorded
  std::vector<int32_t> ranks;  // empty = not recorded, or cut short
};

// Keeps the buffers of the parser from event to event. Not thread-safe.
class KinetoEventParser {
 public:
  KinetoEventParser();
  ~KinetoEventParser();
  KinetoEventParser(const KinetoEventParser&) = delete;
  KinetoEventParser& operator=(const KinetoEventParser&) = delete;

  // `text` is one JSON object with kJsonPadding readable bytes behind it. Cheap for events of no interest, which are
  // most: those are not parsed, and kOther whether well-formed or not.
  KinetoEvent Parse(absl::string_view text);

 private:
  struct Implementation;
  const std::unique_ptr<Implementation> implementation_;
};

}  // namespace lockstep

#endif  // LOCKSTEP_FORMATS_KINETO_EVENT_H_
