// Keys of the history store. Formats on disk: see docs/storage-format.md; a change needs a new schema version.
//
// Keys with a time end with a number that is unique within the store, so that equal times never overwrite each other.
// Pure; a key that does not decode is DATA_LOSS.

#ifndef LOCKSTEP_COLLECTOR_STORE_KEYS_H_
#define LOCKSTEP_COLLECTOR_STORE_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/metric_catalog.h"
#include "collector/store/audit_kind.h"

namespace lockstep {

// Bytes of the id at the head of a TimedKey: the prefix of its bloom filters.
inline constexpr size_t kIdPrefixBytes = 8;

// id (8) · first time (8) · number (8): chunks of the log (id of a job), of points and roll-ups (id of a series).
struct TimedKey {
  uint64_t id = 0;
  int64_t first_wall_ns = 0;
  uint64_t number = 0;

  bool operator==(const TimedKey&) const = default;
};
std::string EncodeTimedKey(const TimedKey& key);
absl::StatusOr<TimedKey> DecodeTimedKey(absl::string_view bytes);

// The smallest key of `id` that begins at `first_wall_ns` or later.
std::string TimedKeyLowerBound(uint64_t id, int64_t first_wall_ns);

// `time_ns - nanos` without overflow, for a bound that may be the smallest number.
int64_t EarlierBy(int64_t time_ns, int64_t nanos);

// Smaller than every key of a larger id, larger than every key of `id`.
std::string TimedKeyEnd(uint64_t id);

// host length (2) · host · incarnation (8).
std::string EncodeMarkKey(absl::string_view host, uint64_t incarnation);

// Who a series is about.
struct SeriesLabels {
  Metric metric = Metric::kUnspecified;
  std::string host;
  std::string device;  // "" = the host

  bool operator==(const SeriesLabels&) const = default;
};

// metric (2) · host length (2) · host · device length (2) · device: all series of one metric, and of one metric and
// host, are neighbours.
std::string EncodeSeriesLabels(const SeriesLabels& labels);
absl::StatusOr<SeriesLabels> DecodeSeriesLabels(absl::string_view bytes);

// What all keys of `metric`, and of `host` unless that is empty, begin with.
std::string SeriesLabelsPrefix(Metric metric, absl::string_view host);

// id (8).
std::string EncodeIncidentKey(uint64_t id);
absl::StatusOr<uint64_t> DecodeIncidentKey(absl::string_view bytes);

// What one receiver of alerts has not taken: "alert/" · number of the change (8) · name of the receiver.
struct AlertKey {
  uint64_t number = 0;
  std::string receiver;

  bool operator==(const AlertKey&) const = default;
};
inline constexpr absl::string_view kAlertKeyPrefix = "alert/";
std::string EncodeAlertKey(const AlertKey& key);
absl::StatusOr<AlertKey> DecodeAlertKey(absl::string_view bytes);

// A host that has reported: "host/" · name.
inline constexpr absl::string_view kHostKeyPrefix = "host/";

// Which GPUs the indices of a host are, and were: "gpus/" · name of the host.
inline constexpr absl::string_view kGpusKeyPrefix = "gpus/";

// A window of maintenance: "maintenance/" · id (8).
inline constexpr absl::string_view kMaintenanceKeyPrefix = "maintenance/";

// Up to where ids of incidents may be given out.
inline constexpr absl::string_view kIncidentIdsKey = "incident_ids";

// Pauses that age nothing.
inline constexpr absl::string_view kPausesKey = "pauses";

// Something that was asked for: "audit/" · its kind (1) · number (8).
struct AuditKey {
  AuditKind kind = AuditKind::kChange;
  uint64_t number = 0;

  bool operator==(const AuditKey&) const = default;
};
inline constexpr absl::string_view kAuditKeyPrefix = "audit/";
std::string EncodeAuditKey(const AuditKey& key);
absl::StatusOr<AuditKey> DecodeAuditKey(absl::string_view bytes);

// Stacks that were taken for an incident: "stacks/" · its id (8) · place among them (4).
inline constexpr absl::string_view kStackKeyPrefix = "stacks/";
std::string StackKeyPrefix(uint64_t incident);
std::string EncodeStackKey(uint64_t incident, uint32_t place);

// What a receiver of alerts was told last: "told/" · id of the incident (8) · name of the receiver.
struct ToldKey {
  uint64_t incident = 0;
  std::string receiver;

  bool operator==(const ToldKey&) const = default;
};
inline constexpr absl::string_view kToldKeyPrefix = "told/";
std::string EncodeToldKey(const ToldKey& key);
absl::StatusOr<ToldKey> DecodeToldKey(absl::string_view bytes);

// The first key after all keys that begin with `prefix`; "" = there is none.
std::string PrefixEnd(std::string prefix);

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_KEYS_H_
