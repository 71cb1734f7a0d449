#include "agent/sources/ras/ras_answer.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "agent/printable_text.h"
#include "agent/sources/ras/ras_findings.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

constexpr size_t kMaxDepth = 16;
constexpr size_t kMaxTextBytes = 64;
constexpr double kNanosPerSecond = 1e9;

// The places of the answer that we look at.
enum class Node : uint8_t {
  kOther,
  kDocument,
  kRoot,
  kCommunicators,
  kCommunicator,
  kRanks,
  kRank,
  kRankStatus,
  kCounts,
  kMissingRanks,
  kMissingRank,
  kMissingStatus,
  kRas,
};

// What is below what. The elements of an array have the key "".
struct Child {
  Node parent;
  absl::string_view key;
  Node node;
};
constexpr Child kChildren[] = {
    {Node::kDocument, "", Node::kRoot},
    {Node::kRoot, "communicators", Node::kCommunicators},
    {Node::kRoot, "ras", Node::kRas},
    {Node::kCommunicators, "", Node::kCommunicator},
    {Node::kCommunicator, "ranks", Node::kRanks},
    {Node::kCommunicator, "missing_ranks", Node::kMissingRanks},
    {Node::kRanks, "", Node::kRank},
    {Node::kRank, "status", Node::kRankStatus},
    {Node::kRank, "collective_counts", Node::kCounts},
    {Node::kMissingRanks, "", Node::kMissingRank},
    {Node::kMissingRank, "status", Node::kMissingStatus},
};

// One value of the answer, in the forms that it may be wanted in.
struct Value {
  uint64_t number = 0;  // 0 also for what is negative
  double real = 0;
  bool flag = false;
  absl::string_view text;

  int32_t AsInt32() const {
    constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
    return static_cast<int32_t>(std::min(number, kMost));
  }
  std::string AsText() const { return PrintableText(text, kMaxTextBytes); }
  uint64_t AsHash() const {
    uint64_t hash = 0;
    return absl::SimpleHexAtoi(text, &hash) ? hash : 0;
  }
};

// Takes the values one by one and keeps the record of the communicator at hand.
struct Taker {
  RasAnswer answer;
  RasMember member;          // of `ranks`
  RasMissingMember missing;  // of `missing_ranks`
  RasCommunicator communicator;
  RasSummary summary;
};

struct Field {
  Node node;
  absl::string_view key;
  void (*take)(Taker& taker, const Value& value);
};
constexpr Field kFields[] = {
    {Node::kRoot, "nccl_version", [](Taker& t, const Value& v) { t.answer.report.set_nccl_version(v.AsText()); }},
    {Node::kRas, "collection_time_sec",
     [](Taker& t, const Value& v) {
       t.answer.report.set_collection_ns(static_cast<int64_t>(std::clamp(v.real, 0.0, 1e6) * kNanosPerSecond));
     }},
    {Node::kRas, "timeouts_count",
     [](Taker& t, const Value& v) { t.answer.report.set_timeouts(static_cast<uint32_t>(v.AsInt32())); }},
    {Node::kCommunicator, "hash", [](Taker& t, const Value& v) { t.communicator.id = v.AsHash(); }},
    {Node::kCommunicator, "size", [](Taker& t, const Value& v) { t.communicator.size = v.AsInt32(); }},
    {Node::kRank, "rank", [](Taker& t, const Value& v) { t.member.rank = v.AsInt32(); }},
    {Node::kRank, "host", [](Taker& t, const Value& v) { t.member.host = v.AsText(); }},
    {Node::kRankStatus, "async_error", [](Taker& t, const Value& v) { t.member.async_error = v.AsInt32(); }},
    {Node::kRankStatus, "abort_flag", [](Taker& t, const Value& v) { t.member.aborted = v.flag; }},
    {Node::kMissingRank, "rank", [](Taker& t, const Value& v) { t.missing.rank = v.AsInt32(); }},
    {Node::kMissingRank, "host", [](Taker& t, const Value& v) { t.missing.host = v.AsText(); }},
    {Node::kMissingRank, "pid", [](Taker& t, const Value& v) { t.missing.pid = v.AsInt32(); }},
    {Node::kMissingStatus, "unresponsive", [](Taker& t, const Value& v) { t.missing.unresponsive = v.flag; }},
    {Node::kMissingStatus, "considered_dead", [](Taker& t, const Value& v) { t.missing.considered_dead = v.flag; }},
};

// The parser's listener. Returning false ends the parse.
class Listener final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool flag) override { return Take({.flag = flag}); }
  bool number_integer(int64_t number) override {
    const uint64_t positive = number > 0 ? static_cast<uint64_t>(number) : 0;
    return Take({.number = positive, .real = static_cast<double>(number), .flag = number != 0});
  }
  bool number_unsigned(uint64_t number) override {
    return Take({.number = number, .real = static_cast<double>(number), .flag = number != 0});
  }
  bool number_float(double real, const std::string&) override { return Take({.real = real}); }
  bool string(std::string& text) override { return Take({.text = text}); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Enter(/*is_array=*/false); }
  bool start_array(std::size_t) override { return Enter(/*is_array=*/true); }
  bool key(std::string& key) override {
    key_ = key;
    return true;
  }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

  bool is_answer() const { return saw_communicators_; }
  RasAnswer TakeAnswer() {
    taker_.summary.MoveInto(taker_.answer);
    return std::move(taker_.answer);
  }

 private:
  struct Frame {
    Node node;
    bool is_array;
  };

  Frame At() const { return path_.empty() ? Frame{Node::kDocument, true} : path_.back(); }
  absl::string_view Key() const { return At().is_array ? absl::string_view() : key_; }

  bool Take(const Value& value) {
    const Node node = At().node;
    if (node == Node::kCounts) {
      taker_.communicator.AddCount(Key(), taker_.member.rank, value.number);
      return true;
    }
    for (const Field& field : kFields) {
      if (field.node == node && field.key == Key()) field.take(taker_, value);
    }
    return true;
  }

  bool Enter(bool is_array) {
    if (path_.size() == kMaxDepth) return false;
    Node node = Node::kOther;
    for (const Child& child : kChildren) {
      if (child.parent == At().node && child.key == Key()) node = child.node;
    }
    path_.push_back({node, is_array});
    if (node == Node::kCommunicators) saw_communicators_ = true;
    if (node == Node::kCommunicator) taker_.communicator = {};
    if (node == Node::kRank) taker_.member = {};
    if (node == Node::kMissingRank) taker_.missing = {};
    return true;
  }

  bool Leave() {
    const Node node = At().node;
    path_.pop_back();
    if (node == Node::kRank) taker_.communicator.members.push_back(std::move(taker_.member));
    if (node == Node::kMissingRank) taker_.communicator.missing.push_back(std::move(taker_.missing));
    if (node == Node::kCommunicator) taker_.summary.Add(std::move(taker_.communicator));
    return true;
  }

  Taker taker_;
  std::vector<Frame> path_;
  std::string key_;
  bool saw_communicators_ = false;
};

}  // namespace

std::string WithMissingCommas(absl::string_view text) {
  std::string repaired;
  repaired.reserve(text.size() + 64);
  bool in_string = false;
  bool after_value = false;  // the last thing was the end of a value
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\' && i + 1 < text.size()) repaired.push_back(text[i++]);
      in_string = c != '"';
      after_value = !in_string;
    } else if (c == '"' || c == '{' || c == '[') {
      if (after_value) repaired.push_back(',');
      in_string = c == '"';
      after_value = false;
    } else if (!absl::ascii_isspace(static_cast<unsigned char>(c))) {
      after_value = c != ',' && c != ':';
    }
    repaired.push_back(text[i]);
  }
  return repaired;
}

absl::StatusOr<RasAnswer> ParseRasAnswer(absl::string_view text) {
  Listener as_it_is;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &as_it_is) && as_it_is.is_answer()) {
    return as_it_is.TakeAnswer();
  }
  const std::string repaired = WithMissingCommas(text);
  Listener with_commas;
  if (nlohmann::json::sax_parse(repaired, &with_commas) && with_commas.is_answer()) return with_commas.TakeAnswer();
  return absl::InvalidArgumentError("the RAS service answered something that is no status in JSON");
}

}  // namespace lockstep
