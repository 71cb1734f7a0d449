#include "detector/verdict/end_reasons.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "detector/verdict/signal_names.h"

namespace lockstep {
namespace {

std::string SignalText(int32_t signal) {
  const std::string name = SignalName(signal);
  return name.empty() ? absl::StrCat("signal ", signal) : name;
}

const char* ToldBy(EndSource source) {
  switch (source) {
    case EndSource::kPidfd:
      return ", as the kernel told its agent (pidfd)";
    case EndSource::kZombie:
      return ", as its zombie told";
    case EndSource::kConnector:
      return ", as the kernel told its agent (process connector)";
    case EndSource::kKernelLog:
      return ", as the kernel's log says";
    case EndSource::kNone:
      break;
  }
  return "";
}

}  // namespace

std::string HowText(const ProcessEnd& end) {
  if (!end.known()) return "is gone; by which signal or exit code nobody could tell";
  if (end.signal == 0) return absl::StrCat("ended with exit code ", end.code);
  return absl::StrCat("was ended by ", SignalText(end.signal), " (signal ", end.signal,
                      end.core_dumped ? ", core dumped)" : ")");
}

std::string ShortEndText(const ProcessEnd& end) {
  if (!end.known()) return "";
  return end.signal == 0 ? absl::StrCat("exit code ", end.code) : SignalText(end.signal);
}

const char* MemoryText(MemoryKill kill) {
  if (kill == MemoryKill::kNone) return "";
  return kill == MemoryKill::kNamed ? "; the kernel of its host killed it because memory ran out"
                                    : "; at that moment the kernel of its host killed because memory ran out";
}

std::string Sentence(const ProcessEnded& reason) {
  const std::string pid = reason.pid > 0 ? absl::StrCat(", pid ", reason.pid) : "";
  const std::string text =
      absl::StrCat("The process of ", Text(reason.rank), pid, reason.first ? " was the first to end: it " : " ",
                   HowText(reason.end), ToldBy(reason.end.source));
  return absl::StrCat(text, MemoryText(reason.for_memory), ".");
}

std::string Sentence(const LastRecorded& reason) {
  if (reason.inside) {
    return absl::StrCat("When it ended, rank ", reason.rank, " had called ", Text(reason.operation), " ",
                        Duration(reason.seconds), " before, and that was not over.");
  }
  return absl::StrCat("The last that rank ", reason.rank, " recorded is ", Text(reason.operation),
                      ", which it had left ", Duration(reason.seconds), " before.");
}

std::string Sentence(const DeathsThatFollowed& reason) {
  const bool one = reason.dead == 1;
  const std::string span = reason.last_seconds > reason.first_seconds
                               ? absl::StrCat(Duration(reason.first_seconds), " to ", Duration(reason.last_seconds))
                               : Duration(reason.first_seconds);
  return absl::StrFormat("%d other%s of %d ranks ended %s after that (%s): %s, and %s not to blame.", reason.dead,
                         one ? "" : "s", reason.all, span, absl::StrJoin(reason.how, ", "),
                         one ? "it followed" : "they followed", one ? "is" : "are");
}

std::string Sentence(const DeathsTooNear& reason) {
  return absl::StrCat(
      "Which of ", Text(reason.ranks), " was the first cannot be told: their ends are too near to each other",
      reason.across_hosts
          ? absl::StrCat(", and moments of several hosts are compared to ", Duration(reason.sure_seconds), " only.")
          : ".");
}

std::string Sentence(const DiedInHang&) {
  return "The job died while this held it up: those who wait in vain are ended by NCCL, by their launcher or by "
         "people.";
}

}  // namespace lockstep
