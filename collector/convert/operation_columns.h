// Finished operations from the columns of the wire to values of the detector. The columns are untrusted input.

#ifndef LOCKSTEP_COLLECTOR_CONVERT_OPERATION_COLUMNS_H_
#define LOCKSTEP_COLLECTOR_CONVERT_OPERATION_COLUMNS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "collector/convert/convert_losses.h"
#include "detector/model/input.h"
#include "detector/model/tuning.h"
#include "proto/telemetry.pb.h"

namespace lockstep {

// The kind of the detector that the number on the wire means; kUnknown, counted, for one that this version does not
// know. Pure.
OperationKind ToOperationKind(uint32_t kind, ConvertLosses& losses);

// As above, of agent/recorder/ring_format.h. Pure.
TimingQuality ToTimingQuality(uint32_t quality, ConvertLosses& losses);

// As above, of the three numbers; channels that cannot be are unknown. Pure.
Tuning ToTuning(uint32_t algorithm, uint32_t protocol, uint32_t channels, ConvertLosses& losses);

// The operations of `batch` by rising enqueue time. INVALID_ARGUMENT, naming the column and the row, when columns
// differ in length or a value is out of range. O(n); sorts only if the agent did not. Pure.
absl::StatusOr<std::vector<Operation>> ToOperations(const wire::OperationBatch& batch, ConvertLosses& losses);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_CONVERT_OPERATION_COLUMNS_H_
