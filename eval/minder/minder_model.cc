#include "eval/minder/minder_model.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/fnv1a.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

constexpr absl::string_view kMagic = "LKSMNDR1";
constexpr size_t kVersionAt = 7;  // the last byte of the magic is the version
constexpr size_t kHashBytes = 8;

template <typename Integer>
void AppendInteger(std::string& out, Integer value) {
  for (size_t i = 0; i < sizeof(Integer); ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

void AppendNetwork(std::string& out, const LstmVae& network) {
  AppendInteger(out, static_cast<uint32_t>(network.features));
  AppendInteger(out, static_cast<uint32_t>(network.parameters.size()));
  for (const float parameter : network.parameters) AppendInteger(out, std::bit_cast<uint32_t>(parameter));
}

absl::Status Damaged(absl::string_view what) { return absl::DataLossError(absl::StrCat("not a Minder model: ", what)); }

// Reads from the front; whatever is missing is an error.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes) {}

  template <typename Integer>
  absl::StatusOr<Integer> ReadInteger() {
    ASSIGN_OR_RETURN(const absl::string_view bytes, ReadBytes(sizeof(Integer)));
    Integer value = 0;
    for (size_t i = 0; i < sizeof(Integer); ++i) {
      value |= static_cast<Integer>(static_cast<uint8_t>(bytes[i])) << (8 * i);
    }
    return value;
  }

  absl::StatusOr<absl::string_view> ReadBytes(size_t size) {
    if (bytes_.size() < size) return Damaged("it ends early");
    const absl::string_view front = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return front;
  }

  absl::StatusOr<LstmVae> ReadNetwork(uint32_t expected_features) {
    ASSIGN_OR_RETURN(const uint32_t features, ReadInteger<uint32_t>());
    ASSIGN_OR_RETURN(const uint32_t count, ReadInteger<uint32_t>());
    if (features != expected_features) return Damaged(absl::StrCat("a network of ", features, " features"));
    LstmVae network;
    network.features = static_cast<int>(features);
    if (count != static_cast<uint32_t>(LstmVaeLayout(network.features).size)) {
      return Damaged(absl::StrCat("a network of ", count, " parameters"));
    }
    for (uint32_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(const uint32_t bits, ReadInteger<uint32_t>());
      network.parameters.push_back(std::bit_cast<float>(bits));
      if (!std::isfinite(network.parameters.back())) return Damaged("a parameter is not finite");
    }
    return network;
  }

  bool done() const { return bytes_.empty(); }

 private:
  absl::string_view bytes_;
};

absl::StatusOr<MinderMetric> ReadMetric(Reader& reader, const std::vector<MinderMetric>& before) {
  ASSIGN_OR_RETURN(const uint32_t length, reader.ReadInteger<uint32_t>());
  if (length == 0 || length > kMaxMinderNameBytes) return Damaged(absl::StrCat("a name of ", length, " bytes"));
  ASSIGN_OR_RETURN(const absl::string_view name, reader.ReadBytes(length));
  MinderMetric metric;
  metric.name = std::string(name);
  for (const MinderMetric& other : before) {
    if (other.name == metric.name) return Damaged("two metrics of one name");
  }
  ASSIGN_OR_RETURN(const uint64_t bits, reader.ReadInteger<uint64_t>());
  metric.mean_squared_error = std::bit_cast<double>(bits);
  if (!std::isfinite(metric.mean_squared_error)) return Damaged("an error is not finite");
  ASSIGN_OR_RETURN(metric.network, reader.ReadNetwork(1));
  return metric;
}

absl::Status CheckFrame(absl::string_view bytes) {
  if (bytes.size() > kMaxMinderModelBytes) return Damaged(absl::StrCat(bytes.size(), " bytes"));
  if (bytes.size() < kMagic.size() + kHashBytes) return Damaged("it ends early");
  if (bytes.substr(0, kVersionAt) != kMagic.substr(0, kVersionAt)) return Damaged("it begins otherwise");
  const absl::string_view body = bytes.substr(0, bytes.size() - kHashBytes);
  Reader tail(bytes.substr(body.size()));
  ASSIGN_OR_RETURN(const uint64_t hash, tail.ReadInteger<uint64_t>());
  if (hash != Fnv1a(body)) return Damaged("its checksum is wrong");
  if (bytes[kVersionAt] != kMagic[kVersionAt]) {
    return absl::FailedPreconditionError("this Minder model has another version; train it anew");
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeMinderModel(const MinderModel& model) {
  CHECK(model.metrics.size() <= kMaxMinderMetrics);
  std::string out(kMagic);
  AppendInteger(out, static_cast<uint32_t>(model.metrics.size()));
  for (const MinderMetric& metric : model.metrics) {
    CHECK(!metric.name.empty() && metric.name.size() <= kMaxMinderNameBytes);
    AppendInteger(out, static_cast<uint32_t>(metric.name.size()));
    out += metric.name;
    AppendInteger(out, std::bit_cast<uint64_t>(metric.mean_squared_error));
    AppendNetwork(out, metric.network);
  }
  AppendInteger(out, static_cast<uint32_t>(model.integrated.has_value() ? 1 : 0));
  if (model.integrated.has_value()) AppendNetwork(out, *model.integrated);
  AppendInteger(out, Fnv1a(out));
  return out;
}

absl::StatusOr<MinderModel> DecodeMinderModel(absl::string_view bytes) {
  RETURN_IF_ERROR(CheckFrame(bytes));
  Reader reader(bytes.substr(kMagic.size(), bytes.size() - kMagic.size() - kHashBytes));
  MinderModel model;
  ASSIGN_OR_RETURN(const uint32_t count, reader.ReadInteger<uint32_t>());
  if (count > kMaxMinderMetrics) return Damaged(absl::StrCat(count, " metrics"));
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(MinderMetric metric, ReadMetric(reader, model.metrics));
    model.metrics.push_back(std::move(metric));
  }
  ASSIGN_OR_RETURN(const uint32_t integrated, reader.ReadInteger<uint32_t>());
  if (integrated > 1 || (integrated == 1 && count == 0)) return Damaged("its last part");
  if (integrated == 1) {
    ASSIGN_OR_RETURN(model.integrated, reader.ReadNetwork(count));
  }
  if (!reader.done()) return Damaged("something follows its end");
  return model;
}

}  // namespace lockstep
