#include "agent/sources/kernel_log/kernel_line.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "agent/printable_text.h"
#include "agent/text_fields.h"
#include "base/pci_address.h"

namespace lockstep {
namespace {

using wire::KernelEvent;

constexpr int64_t kXidFallenOffTheBus = 79;
constexpr int64_t kAerCorrected = 0;
constexpr int64_t kAerNonFatal = 1;
constexpr int64_t kAerFatal = 2;
constexpr int64_t kEdacCorrected = 0;
constexpr int64_t kEdacUncorrected = 1;
// The kernel's PID_MAX_LIMIT.
constexpr int64_t kMaxPid = 4 * 1024 * 1024;

// The decimal number that `text` starts with, or nothing.
absl::optional<int64_t> LeadingNumber(absl::string_view text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  int64_t value = 0;
  if (!absl::SimpleAtoi(text.substr(0, end), &value)) return absl::nullopt;
  return value;
}

// The number after the first `key`, or nothing: pids are also written as '<unknown>' or not at all.
absl::optional<int64_t> NumberAfter(absl::string_view text, absl::string_view key) {
  const size_t at = text.find(key);
  if (at == absl::string_view::npos) return absl::nullopt;
  return LeadingNumber(text.substr(at + key.size()));
}

int32_t PidAfter(absl::string_view text, absl::string_view key) {
  const int64_t pid = NumberAfter(text, key).value_or(0);
  return pid <= kMaxPid ? static_cast<int32_t>(pid) : 0;
}

// "(PCI:0000:3b:00): 79, pid=..." -> device and code; `rest` becomes what follows the code.
bool TakeAddressAndCode(absl::string_view& rest, KernelEvent& event) {
  const size_t close = rest.find("): ");
  if (close == absl::string_view::npos || !absl::ConsumePrefix(&rest, "(")) return false;
  const std::string device = NormalizePciAddress(rest.substr(0, close - 1));
  rest.remove_prefix(close - 1 + sizeof("): ") - 1);
  const absl::optional<int64_t> code = LeadingNumber(rest);
  if (device.empty() || !code.has_value()) return false;
  event.set_device(device);
  event.set_code(*code);
  return true;
}

bool ParseXid(absl::string_view rest, KernelEvent& event) {
  if (!TakeAddressAndCode(rest, event)) return false;
  event.set_pid(PidAfter(rest, "pid="));
  return true;
}

// The driver says so in other words as well, with or without an Xid before.
bool ParseGpuLost(absl::string_view rest, KernelEvent& event) {
  if (!absl::StrContains(rest, "fallen off the bus")) return false;
  absl::ConsumePrefix(&rest, "The NVIDIA ");
  absl::ConsumePrefix(&rest, "GPU ");
  event.set_device(NormalizePciAddress(rest.substr(0, rest.find_first_of(" \\"))));
  event.set_code(kXidFallenOffTheBus);
  return true;
}

bool ParseSxid(absl::string_view rest, KernelEvent& event) {
  const size_t at = rest.find(": SXid ");
  if (at == absl::string_view::npos) return false;
  rest.remove_prefix(at + sizeof(": SXid ") - 1);
  return TakeAddressAndCode(rest, event);
}

absl::optional<int64_t> AerSeverity(absl::string_view text) {
  if (absl::StartsWith(text, "Correct")) return kAerCorrected;  // Corrected; Correctable since 6.8
  if (!absl::StartsWith(text, "Uncorrect")) return absl::nullopt;
  const absl::string_view words = text.substr(0, text.find_first_of(",:"));
  if (absl::StrContains(words, "(Non-Fatal)")) return kAerNonFatal;
  return kAerFatal;
}

// `line` is "<driver> <address>: <message>"; the driver of the device speaks, or that of the port above it.
bool ParsePcieError(absl::string_view line, KernelEvent& event) {
  TakeField(line);
  event.set_device(NormalizePciAddress(TakeField(line)));
  if (event.device().empty()) return false;
  line = absl::StripLeadingAsciiWhitespace(line);
  if (absl::ConsumePrefix(&line, "DPC: containment event")) {
    event.set_code(kAerFatal);
    return true;
  }
  const bool is_aer = absl::ConsumePrefix(&line, "AER: ");
  absl::ConsumePrefix(&line, "Multiple ");
  const bool is_bus_error = absl::ConsumePrefix(&line, "PCIe Bus Error: severity=");
  const absl::optional<int64_t> severity = AerSeverity(line);
  if (!severity.has_value() || (!is_bus_error && !(is_aer && absl::StrContains(line, "received")))) return false;
  event.set_code(*severity);
  // "... error received: 0000:3b:00.0": the device that complained to the port.
  const std::string origin = is_bus_error ? "" : NormalizePciAddress(line.substr(line.find_last_of(' ') + 1));
  if (!origin.empty()) event.set_device(origin);
  return true;
}

struct Phrase {
  absl::string_view text;
  int64_t code;
};

constexpr int64_t kMlx5LinkDown = 1;
constexpr int64_t kMlx5LinkUp = 2;
constexpr int64_t kMlx5Module = 3;
constexpr int64_t kMlx5Health = 4;
constexpr int64_t kMlx5CommandTimeout = 5;

// In the order of trial. What else the driver says is about its start or about mistakes of programs.
constexpr Phrase kMlx5Phrases[] = {
    {"Link down", kMlx5LinkDown},
    {"Link DOWN", kMlx5LinkDown},
    {"Link INIT", kMlx5LinkDown},  // the subnet manager has not let it in yet
    {"Link up", kMlx5LinkUp},
    {"Link ACTIVE", kMlx5LinkUp},
    {"Port module event", kMlx5Module},
    {"health", kMlx5Health},
    {"Health", kMlx5Health},
    {"Fatal error", kMlx5Health},
    {"device is in error state", kMlx5Health},
    {"High temperature", kMlx5Health},
    {" timeout. Will cause", kMlx5CommandTimeout},
    {"No done completion", kMlx5CommandTimeout},
};

bool ParseMlx5(absl::string_view rest, KernelEvent& event) {
  event.set_device(NormalizePciAddress(TakeField(rest)));
  if (event.device().empty()) return false;
  for (const Phrase& phrase : kMlx5Phrases) {
    if (!absl::StrContains(rest, phrase.text)) continue;
    event.set_code(phrase.code);
    return true;
  }
  return false;
}

bool ParseOutOfMemory(absl::string_view rest, KernelEvent& event) {
  // "Kill process 7 ... or sacrifice child" before 5.1, "Killed process 7 (name)" since.
  int32_t pid = PidAfter(rest, "Killed process ");
  if (pid == 0) pid = PidAfter(rest, "Kill process ");
  event.set_pid(pid);
  event.set_code(pid);
  return pid != 0;
}

bool ParseOomKill(absl::string_view rest, KernelEvent& event) {
  event.set_pid(PidAfter(rest, ",pid="));
  event.set_code(event.pid());
  return true;
}

// "MC0: 1 CE memory read error on ..."
bool ParseEdac(absl::string_view rest, KernelEvent& event) {
  const absl::string_view controller = TakeField(rest);
  const bool has_count = ParseCount(TakeField(rest)).has_value();
  const absl::string_view type = TakeField(rest);
  if (!has_count || !absl::EndsWith(controller, ":") || (type != "CE" && type != "UE")) return false;
  event.set_device(PrintableText(absl::StripSuffix(controller, ":"), kMaxKernelLineBytes));
  event.set_code(type == "CE" ? kEdacCorrected : kEdacUncorrected);
  return true;
}

constexpr int64_t kSigIll = 4;
constexpr int64_t kSigTrap = 5;
constexpr int64_t kSigFpe = 8;
constexpr int64_t kSigSegv = 11;

// Behind the name and the pid of the program.
constexpr Phrase kCrashPhrases[] = {
    {"]: segfault at ", kSigSegv},          {"] general protection fault ip:", kSigSegv},
    {"] trap invalid opcode ip:", kSigIll}, {"] trap divide error ip:", kSigFpe},
    {"] trap int3 ip:", kSigTrap},
};

// "train[77]: segfault at 0 ip ...", "traps: train[77] general protection fault ip:...". The name may contain anything.
bool ParseCrash(absl::string_view line, KernelEvent& event) {
  for (const Phrase& phrase : kCrashPhrases) {
    const size_t end = line.rfind(phrase.text);
    if (end == absl::string_view::npos) continue;
    const size_t begin = line.substr(0, end).rfind('[');
    if (begin == absl::string_view::npos) return false;
    event.set_pid(PidAfter(line.substr(begin), "["));
    event.set_code(phrase.code);
    return event.pid() != 0;
  }
  return false;
}

struct Rule {
  absl::string_view prefix;  // of the line
  KernelEvent::Kind kind;
  bool (*parse)(absl::string_view rest, KernelEvent& event);  // `rest` follows the prefix
};

// The first rule that takes a line decides.
constexpr Rule kRules[] = {
    {"NVRM: Xid ", KernelEvent::KIND_XID, ParseXid},
    {"NVRM: ", KernelEvent::KIND_XID, ParseGpuLost},
    {"nvidia-nvswitch", KernelEvent::KIND_SXID, ParseSxid},
    {"mlx5_core ", KernelEvent::KIND_MLX5, ParseMlx5},
    {"Out of memory: ", KernelEvent::KIND_OUT_OF_MEMORY, ParseOutOfMemory},
    {"Memory cgroup out of memory: ", KernelEvent::KIND_OUT_OF_MEMORY, ParseOutOfMemory},
    {"oom-kill:", KernelEvent::KIND_OUT_OF_MEMORY, ParseOomKill},
    {"EDAC ", KernelEvent::KIND_EDAC, ParseEdac},
    {"traps: ", KernelEvent::KIND_CRASH, ParseCrash},
    {"", KernelEvent::KIND_PCIE_AER, ParsePcieError},  // any driver
    {"", KernelEvent::KIND_CRASH, ParseCrash},         // any program
};

}  // namespace

absl::optional<KernelEvent> ParseKernelLine(absl::string_view line) {
  for (const Rule& rule : kRules) {
    if (!absl::StartsWith(line, rule.prefix)) continue;
    KernelEvent event;
    if (!rule.parse(line.substr(rule.prefix.size()), event)) continue;
    event.set_kind(rule.kind);
    event.set_text(PrintableText(line, kMaxKernelLineBytes));
    return event;
  }
  return absl::nullopt;
}

}  // namespace lockstep
