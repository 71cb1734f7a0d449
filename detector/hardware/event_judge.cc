#include "detector/hardware/event_judge.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/shares.h"
#include "detector/hardware/xid_catalog.h"
#include "detector/model/gpu_device.h"

namespace lockstep {
namespace {

// Of what people read.
constexpr size_t kMaxSentences = 3;
// The severity that the kernel prints as fatal.
constexpr int64_t kAerFatal = 2;
constexpr double kUnderLoad = kMainPart;  // utilisation from which a GPU has no reason to save power on its links

// What a kernel event says, as far as one can tell from the line alone.
struct Reading {
  HardwareSign sign;  // of a counter = nothing worth keeping
  VerdictClass verdict_class = VerdictClass::kGpuFault;
  bool hard = false;
  bool of_program = false;
  bool notable = true;
};

Reading ReadXid(const KernelEvent& event) {
  const XidInfo* const xid = FindXid(event.code);
  const XidAction action = xid == nullptr ? XidAction::kUnknown : xid->action;
  const std::string meaning = xid == nullptr || xid->meaning[0] == '\0' ? "" : absl::StrCat(xid->meaning, "; ");
  Reading reading{.sign = {event.kind, event.code, absl::StrCat(meaning, Name(action))}};
  reading.hard = IsHard(action);
  reading.of_program =
      action == XidAction::kIgnore || action == XidAction::kRestartJob || action == XidAction::kFollowOthers;
  reading.notable = action != XidAction::kIgnore;
  return reading;
}

Reading Read(const KernelEvent& event) {
  switch (event.kind) {
    case KernelEventKind::kXid:
      return ReadXid(event);
    case KernelEventKind::kSxid:
      return {{event.kind, event.code, ""}, VerdictClass::kNvlinkSlow, false, false};
    case KernelEventKind::kPcieAer:
      return {{event.kind, 0, event.code == kAerFatal ? "fatal PCIe error" : "PCIe error"},
              VerdictClass::kPcieDegraded,
              event.code == kAerFatal,
              false};
    case KernelEventKind::kMlx5:
      return {{event.kind, 0, "network adapter error"}, VerdictClass::kLinkSlow, false, false};
    case KernelEventKind::kOutOfMemory:
      return {{event.kind, 0, "out of memory, a process was killed"}, VerdictClass::kProcessDead, false, true};
    case KernelEventKind::kEdac:
      return {{event.kind, 0, "memory error of the host"}, VerdictClass::kHostSlow, false, false};
    case KernelEventKind::kNvml:
      if (event.code != kNvmlGpuIsLost) break;
      return {{event.kind, event.code, "NVML says that the GPU is lost; restart the machine"},
              VerdictClass::kGpuFault,
              true,
              false};
    case KernelEventKind::kCrash:  // of any program: what ranks die of is told of their jobs
    case KernelEventKind::kSource:
    case KernelEventKind::kUnknown:
      break;
  }
  return {};
}

// What is not seen, by source; of hosts where it is none of these.
struct SourceClass {
  const char* source;
  VerdictClass verdict_class;
};
constexpr SourceClass kSourceClasses[] = {
    {"nvml", VerdictClass::kGpuFault},
    {"infiniband", VerdictClass::kLinkSlow},
    {"net", VerdictClass::kLinkSlow},
};

VerdictClass ClassOfSource(const std::string& source) {
  for (const SourceClass& row : kSourceClasses) {
    if (row.source == source) return row.verdict_class;
  }
  return VerdictClass::kHostSlow;
}

HardwareSign OfCounter(const char* says) { return {.meaning = says}; }

HardwareReport ReportOf(const HardwareFinding& finding, int64_t now_ns) {
  return {.host = finding.host,
          .device = finding.device,
          .sign = finding.sign,
          .count = finding.count,
          .age_seconds = static_cast<double>(now_ns - finding.last_ns) / kNanosPerSecond};
}

// Failing sources are no lines of a log, and EvidenceLog does not quote them.
bool IsLogged(const HardwareFinding& finding) {
  return finding.metric == Metric::kUnspecified && finding.sign.event != KernelEventKind::kSource;
}

EvidenceKind KindOf(const HardwareFinding& finding) {
  return IsLogged(finding) ? EvidenceKind::kLog : EvidenceKind::kCounter;
}

Verdict OfJob(const HardwareFinding& finding) {
  Verdict verdict = Verdict::Accusation(VerdictScope::kJob, VerdictClass::kProcessDead);
  verdict.advice = Advice::kCheckSoftware;
  verdict.evidence = {
      {EvidenceKind::kLog, ProgramStorm{.sign = finding.sign, .hosts = finding.hosts, .lines = finding.count}}};
  return verdict;
}

Verdict OfDevice(const HardwareFinding& finding, int64_t now_ns) {
  const bool link = finding.verdict_class == VerdictClass::kLinkSlow;
  Verdict verdict =
      finding.hard ? Verdict::Accusation(link ? VerdictScope::kNetwork : VerdictScope::kMachine, finding.verdict_class)
                   : Verdict::Observation(finding.verdict_class);
  if (finding.hard) verdict.advice = link ? Advice::kCheckLink : Advice::kCordonAndReplace;
  verdict.culprits = {{.host = finding.host,
                       .gpu = GpuOfDevice(finding.device),
                       .device = finding.device,
                       .confidence = finding.hard ? 0.9 : 0.5}};
  verdict.evidence = {{KindOf(finding), ReportOf(finding, now_ns)}};
  return verdict;
}

bool IsBefore(const HardwareFinding& a, const HardwareFinding& b) {
  return std::tie(b.hard, a.host, a.device, a.sign) < std::tie(a.hard, b.host, b.device, b.sign);
}

}  // namespace

void EventJudge::Hold(Key key, const Held& fresh) {
  const auto held = held_.find(key);
  if (held == held_.end()) {
    if (held_.size() == kMaxFindings) {
      ++refused_;
      return;
    }
    held_.emplace(std::move(key), fresh);
    return;
  }
  if (fresh.heard_ns - held->second.heard_ns > kStickyNs) {
    held->second = fresh;
    return;
  }
  held->second.count += fresh.count;
  held->second.first_ns = std::min(held->second.first_ns, fresh.first_ns);
  held->second.last_ns = std::max(held->second.last_ns, fresh.last_ns);
  held->second.heard_ns = fresh.heard_ns;
}

void EventJudge::Observe(const std::string& host, const KernelEvent& event, int64_t happened_ns, int64_t now_ns) {
  Reading reading = Read(event);
  if (reading.sign.event == KernelEventKind::kUnknown) return;
  Hold({host, event.device, std::move(reading.sign)},
       {reading.verdict_class, Metric::kUnspecified, reading.hard, reading.of_program, reading.notable, 1, happened_ns,
        happened_ns, now_ns});
}

void EventJudge::Observe(const std::string& host, const SourceFailure& failure, int64_t now_ns) {
  if (failure.failing_ns < kSourceFailsNs) return;
  const Held held = {.verdict_class = ClassOfSource(failure.source),
                     .metric = Metric::kUnspecified,
                     .hard = false,
                     .of_program = false,
                     .notable = failure.hangs || failure.worked,
                     .count = 1,
                     .first_ns = now_ns - failure.failing_ns,
                     .last_ns = now_ns,
                     .heard_ns = now_ns};
  if (failure.missing.empty()) {
    Hold({host, "", {KernelEventKind::kSource, 0, absl::StrCat("the agent gets nothing from ", failure.source)}}, held);
  }
  for (const std::string& part : failure.missing) {
    Hold({host, part, {KernelEventKind::kSource, 0, "it is gone, and worked before in this boot"}}, held);
  }
}

void EventJudge::Observe(const std::string& host, const MetricSample& sample, int64_t now_ns) {
  // A counter that is blank for a moment did not grow by 2^63.
  if (!std::isfinite(sample.value) || IsBlankSentinel(sample.value)) return;
  const absl::Span<const CounterRule> rules = CounterRules();
  for (size_t row = 0; row < rules.size(); ++row) {
    if (rules[row].metric == sample.metric) Judge(host, sample, row, now_ns);
  }
  JudgeCeilings(host, sample, now_ns);
}

void EventJudge::Judge(const std::string& host, const MetricSample& sample, size_t row, int64_t now_ns) {
  const CounterRule& rule = CounterRules()[row];
  if (rule.test == CounterTest::kIncrease) return JudgeIncrease(host, sample, row, now_ns);
  if (rule.test == CounterTest::kStays) return JudgeStay(host, sample, row, now_ns);
  if (rule.test == CounterTest::kFell) return JudgeFall(host, sample, row, now_ns);
  const bool holds =
      rule.test == CounterTest::kAbove
          ? sample.value > rule.threshold
          : (static_cast<uint64_t>(std::clamp(sample.value, 0.0, 1e18)) & static_cast<uint64_t>(rule.threshold)) != 0;
  if (!holds) return;
  Hold({host, sample.device, OfCounter(rule.says)},
       {rule.verdict_class, rule.metric, rule.hard, false, true, 1, now_ns, now_ns, now_ns});
}

EventJudge::Counter* EventJudge::CounterOf(const std::string& host, const MetricSample& sample, size_t row,
                                           bool* is_new) {
  const auto [entry, added] = counters_.try_emplace({host, sample.device, row});
  *is_new = added;
  if (!added || counters_.size() <= kMaxCounters) return &entry->second;
  counters_.erase(entry);
  ++refused_;
  return nullptr;
}

void EventJudge::JudgeStay(const std::string& host, const MetricSample& sample, size_t row, int64_t now_ns) {
  const CounterRule& rule = CounterRules()[row];
  bool is_new = false;
  Counter* const counter = CounterOf(host, sample, row, &is_new);
  if (counter == nullptr) return;
  if (is_new || sample.value != counter->last) counter->since_ns[0] = now_ns;
  counter->last = sample.value;
  const int64_t since_ns = counter->since_ns[0];
  if (sample.value != rule.threshold || now_ns - since_ns < rule.window_ns) return;
  Hold({host, sample.device, OfCounter(rule.says)},
       {rule.verdict_class, rule.metric, rule.hard, false, true, 1, since_ns, now_ns, now_ns});
}

void EventJudge::JudgeFall(const std::string& host, const MetricSample& sample, size_t row, int64_t now_ns) {
  const CounterRule& rule = CounterRules()[row];
  bool is_new = false;
  Counter* const counter = CounterOf(host, sample, row, &is_new);
  if (counter == nullptr) return;
  counter->base[0] = std::max(counter->base[0], sample.value);
  // A link that is down has no rate.
  if (sample.value <= 0 || sample.value >= rule.threshold * counter->base[0]) return;
  Hold({host, sample.device, OfCounter(rule.says)},
       {rule.verdict_class, rule.metric, rule.hard, false, true, 1, now_ns, now_ns, now_ns});
}

void EventJudge::JudgeIncrease(const std::string& host, const MetricSample& sample, size_t row, int64_t now_ns) {
  const CounterRule& rule = CounterRules()[row];
  bool is_new = false;
  Counter* const found = CounterOf(host, sample, row, &is_new);
  if (found == nullptr) return;
  Counter& counter = *found;
  const bool reset = sample.value < counter.last;
  counter.last = sample.value;
  if (is_new || reset) {
    counter.base[0] = counter.base[1] = sample.value;
    counter.since_ns[0] = now_ns;
    counter.since_ns[1] = now_ns - rule.window_ns / 2;
    return;
  }
  double growth = 0;
  for (int window = 0; window < 2; ++window) {
    growth = std::max(growth, sample.value - counter.base[window]);
    if (now_ns - counter.since_ns[window] < rule.window_ns) continue;
    counter.base[window] = sample.value;
    counter.since_ns[window] = now_ns;
  }
  if (growth <= rule.threshold) return;
  // What was counted opens no second finding: both windows begin anew.
  counter.base[0] = counter.base[1] = sample.value;
  Hold({host, sample.device, OfCounter(rule.says)}, {rule.verdict_class, rule.metric, rule.hard, false, true,
                                                     static_cast<uint64_t>(growth), now_ns, now_ns, now_ns});
}

void EventJudge::JudgeCeilings(const std::string& host, const MetricSample& sample, int64_t now_ns) {
  const absl::Span<const CeilingRule> rules = CeilingRules();
  const bool matters = sample.metric == Metric::kGpuUtilizationRatio ||
                       std::any_of(rules.begin(), rules.end(), [&](const CeilingRule& rule) {
                         return rule.metric == sample.metric || rule.ceiling == sample.metric;
                       });
  if (!matters) return;
  if (ceilings_.size() >= kMaxFindings && !ceilings_.contains({host, sample.device})) {
    ++refused_;
    return;
  }
  std::map<Metric, double>& values = ceilings_[{host, sample.device}];
  values[sample.metric] = sample.value;
  for (const CeilingRule& rule : rules) {
    const auto value = values.find(rule.metric);
    const auto ceiling = values.find(rule.ceiling);
    if (sample.metric != rule.metric || ceiling == values.end() || value->second >= ceiling->second) continue;
    const auto load = values.find(Metric::kGpuUtilizationRatio);
    if (rule.only_under_load && (load == values.end() || load->second < kUnderLoad)) continue;
    Hold({host, sample.device, OfCounter(rule.says)},
         {rule.verdict_class, rule.metric, false, false, true, 1, now_ns, now_ns, now_ns});
  }
}

std::vector<HardwareFinding> EventJudge::Findings(int64_t now_ns) const {
  std::vector<HardwareFinding> findings;
  std::map<HardwareSign, std::vector<HardwareFinding>> of_programs;
  for (const auto& [key, held] : held_) {
    if (now_ns - held.heard_ns > kStickyNs) continue;
    HardwareFinding finding{.host = key.host,
                            .device = key.device,
                            .verdict_class = held.verdict_class,
                            .metric = held.metric,
                            .hard = held.hard,
                            .sign = key.sign,
                            .notable = held.notable,
                            .count = held.count,
                            .first_ns = held.first_ns,
                            .last_ns = held.last_ns};
    (held.of_program ? of_programs[key.sign] : findings).push_back(std::move(finding));
  }
  for (auto& [sign, same] : of_programs) {
    std::set<std::string> hosts;
    HardwareFinding all = same.front();
    all.host = all.device = "";
    all.count = 0;
    for (const HardwareFinding& one : same) {
      hosts.insert(one.host);
      all.count += one.count;
      all.first_ns = std::min(all.first_ns, one.first_ns);
      all.last_ns = std::max(all.last_ns, one.last_ns);
    }
    all.hosts = static_cast<int32_t>(hosts.size());
    const auto [earliest, latest] = std::minmax_element(
        same.begin(), same.end(), [](const auto& a, const auto& b) { return a.first_ns < b.first_ns; });
    const bool storm = all.hosts >= kStormHosts && latest->first_ns - earliest->first_ns <= kStormNs;
    if (storm) {
      findings.push_back(std::move(all));
    } else {
      std::move(same.begin(), same.end(), std::back_inserter(findings));
    }
  }
  std::sort(findings.begin(), findings.end(), IsBefore);
  return findings;
}

std::vector<HardwareFinding> JoinFindings(std::vector<HardwareFinding> some, std::vector<HardwareFinding> others) {
  std::move(others.begin(), others.end(), std::back_inserter(some));
  std::sort(some.begin(), some.end(), IsBefore);
  return some;
}

std::vector<Verdict> FindingVerdicts(const std::vector<HardwareFinding>& findings, int64_t now_ns) {
  std::vector<Verdict> verdicts;
  for (const HardwareFinding& finding : findings) {
    if (!finding.hard && !finding.notable && !finding.host.empty()) continue;
    Verdict verdict = finding.host.empty() ? OfJob(finding) : OfDevice(finding, now_ns);
    verdict.first_seen_ns = finding.first_ns;
    verdict.last_seen_ns = finding.last_ns;
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

void AddCounterFindings(const std::vector<HardwareFinding>& findings, int64_t now_ns, Verdict& verdict) {
  size_t added = 0;
  for (const HardwareFinding& finding : findings) {
    const bool concerns = std::any_of(verdict.culprits.begin(), verdict.culprits.end(), [&](const Culprit& culprit) {
      return !finding.host.empty() && culprit.host == finding.host;
    });
    if (!concerns || KindOf(finding) != EvidenceKind::kCounter || added == kMaxSentences) continue;
    verdict.evidence.push_back({EvidenceKind::kCounter, ReportOf(finding, now_ns)});
    ++added;
  }
}

}  // namespace lockstep
