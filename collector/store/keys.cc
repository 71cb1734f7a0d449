#include "collector/store/keys.h"

#include <limits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "collector/store/byte_codec.h"

namespace lockstep {
namespace {

absl::Status Malformed(absl::string_view what, absl::string_view bytes) {
  return absl::DataLossError(absl::StrCat("malformed ", what, " key ", absl::BytesToHexString(bytes.substr(0, 64))));
}

std::string EncodeNumberAndReceiver(absl::string_view prefix, uint64_t number, absl::string_view receiver) {
  std::string bytes(prefix);
  AppendU64(bytes, number);
  bytes.append(receiver.data(), receiver.size());
  return bytes;
}

bool DecodeNumberAndReceiver(absl::string_view prefix, absl::string_view bytes, uint64_t& number,
                             std::string& receiver) {
  if (!absl::ConsumePrefix(&bytes, prefix)) return false;
  ByteReader reader(bytes);
  if (!reader.ReadU64(number)) return false;
  receiver = std::string(reader.rest());
  return true;
}

}  // namespace

std::string EncodeTimedKey(const TimedKey& key) {
  std::string bytes;
  bytes.reserve(24);
  AppendU64(bytes, key.id);
  AppendOrderedI64(bytes, key.first_wall_ns);
  AppendU64(bytes, key.number);
  return bytes;
}

absl::StatusOr<TimedKey> DecodeTimedKey(absl::string_view bytes) {
  ByteReader reader(bytes);
  TimedKey key;
  const bool whole = reader.ReadU64(key.id) && reader.ReadOrderedI64(key.first_wall_ns) && reader.ReadU64(key.number);
  if (!whole || !reader.empty()) return Malformed("timed", bytes);
  return key;
}

std::string TimedKeyLowerBound(uint64_t id, int64_t first_wall_ns) { return EncodeTimedKey({id, first_wall_ns, 0}); }

int64_t EarlierBy(int64_t time_ns, int64_t nanos) {
  constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
  return time_ns < kEarliest + nanos ? kEarliest : time_ns - nanos;
}

std::string TimedKeyEnd(uint64_t id) {
  std::string bytes = EncodeTimedKey({id, std::numeric_limits<int64_t>::max(), std::numeric_limits<uint64_t>::max()});
  bytes.push_back('\0');
  return bytes;
}

std::string EncodeMarkKey(absl::string_view host, uint64_t incarnation) {
  std::string bytes;
  AppendShortText(bytes, host);
  AppendU64(bytes, incarnation);
  return bytes;
}

std::string EncodeSeriesLabels(const SeriesLabels& labels) {
  std::string bytes;
  bytes.reserve(6 + labels.host.size() + labels.device.size());
  AppendU16(bytes, static_cast<uint16_t>(labels.metric));
  AppendShortText(bytes, labels.host);
  AppendShortText(bytes, labels.device);
  return bytes;
}

absl::StatusOr<SeriesLabels> DecodeSeriesLabels(absl::string_view bytes) {
  ByteReader reader(bytes);
  SeriesLabels labels;
  uint16_t metric = 0;
  const bool whole = reader.ReadU16(metric) && reader.ReadShortText(labels.host) && reader.ReadShortText(labels.device);
  if (!whole || !reader.empty()) return Malformed("series", bytes);
  labels.metric = static_cast<Metric>(metric);
  return labels;
}

std::string SeriesLabelsPrefix(Metric metric, absl::string_view host) {
  std::string bytes;
  AppendU16(bytes, static_cast<uint16_t>(metric));
  if (!host.empty()) AppendShortText(bytes, host);
  return bytes;
}

std::string EncodeIncidentKey(uint64_t id) {
  std::string bytes;
  AppendU64(bytes, id);
  return bytes;
}

absl::StatusOr<uint64_t> DecodeIncidentKey(absl::string_view bytes) {
  ByteReader reader(bytes);
  uint64_t id = 0;
  if (!reader.ReadU64(id) || !reader.empty()) return Malformed("incident", bytes);
  return id;
}

std::string EncodeAlertKey(const AlertKey& key) {
  return EncodeNumberAndReceiver(kAlertKeyPrefix, key.number, key.receiver);
}

absl::StatusOr<AlertKey> DecodeAlertKey(absl::string_view bytes) {
  AlertKey key;
  if (!DecodeNumberAndReceiver(kAlertKeyPrefix, bytes, key.number, key.receiver)) return Malformed("alert", bytes);
  return key;
}

std::string EncodeToldKey(const ToldKey& key) {
  return EncodeNumberAndReceiver(kToldKeyPrefix, key.incident, key.receiver);
}

absl::StatusOr<ToldKey> DecodeToldKey(absl::string_view bytes) {
  ToldKey key;
  if (!DecodeNumberAndReceiver(kToldKeyPrefix, bytes, key.incident, key.receiver))
    return Malformed("told alert", bytes);
  return key;
}

std::string EncodeAuditKey(const AuditKey& key) {
  std::string bytes(kAuditKeyPrefix);
  AppendU8(bytes, static_cast<uint8_t>(key.kind));
  AppendU64(bytes, key.number);
  return bytes;
}

std::string StackKeyPrefix(uint64_t incident) {
  std::string bytes(kStackKeyPrefix);
  AppendU64(bytes, incident);
  return bytes;
}

std::string EncodeStackKey(uint64_t incident, uint32_t place) {
  std::string bytes = StackKeyPrefix(incident);
  AppendU32(bytes, place);
  return bytes;
}

absl::StatusOr<AuditKey> DecodeAuditKey(absl::string_view bytes) {
  AuditKey key;
  uint8_t kind = 0;
  absl::string_view behind_prefix = bytes;
  const bool prefixed = absl::ConsumePrefix(&behind_prefix, kAuditKeyPrefix);
  ByteReader reader(behind_prefix);
  const bool whole = prefixed && reader.ReadU8(kind) && reader.ReadU64(key.number) && reader.empty();
  if (!whole || kind >= kAuditKinds) return Malformed("audit", bytes);
  key.kind = static_cast<AuditKind>(kind);
  return key;
}

std::string PrefixEnd(std::string prefix) {
  while (!prefix.empty() && static_cast<uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) prefix.back() = static_cast<char>(static_cast<uint8_t>(prefix.back()) + 1);
  return prefix;
}

}  // namespace lockstep
