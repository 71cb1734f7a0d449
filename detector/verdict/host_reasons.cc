#include "detector/verdict/host_reasons.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "detector/model/operation_kind.h"
#include "detector/verdict/wording.h"

namespace lockstep {
namespace {

// "1st", "2nd", "3rd", "4th".
std::string Ordinal(int number) {
  const bool teen = number % 100 / 10 == 1;
  const char* const endings[] = {"th", "st", "nd", "rd"};
  return absl::StrCat(number, endings[!teen && number % 10 < 4 ? number % 10 : 0]);
}

std::string Text(const HardwareSign& sign) {
  switch (sign.event) {
    case KernelEventKind::kXid:
      return absl::StrCat("Xid ", sign.code, " (", sign.meaning, ")");
    case KernelEventKind::kSxid:
      return absl::StrCat("NVSwitch SXid ", sign.code);
    case KernelEventKind::kUnknown:
      return absl::StrCat("counter: ", sign.meaning);
    default:
      return sign.meaning;
  }
}

// "Xid 79 on 0000:3b:00 (GPU has fallen off the bus)".
std::string Text(const KernelLine& line) {
  const std::string where = line.device.empty() ? "" : absl::StrCat(" on ", line.device);
  switch (line.event) {
    case KernelEventKind::kXid:
      return absl::StrCat("Xid ", line.code, where, line.meaning.empty() ? "" : absl::StrCat(" (", line.meaning, ")"));
    case KernelEventKind::kSxid:
      return absl::StrCat("NVSwitch SXid ", line.code, where);
    case KernelEventKind::kPcieAer:
      return absl::StrCat("PCIe error", where);
    case KernelEventKind::kMlx5:
      return absl::StrCat("network adapter event", where);
    case KernelEventKind::kOutOfMemory:
      return absl::StrCat("out-of-memory kill of pid ", line.code);
    case KernelEventKind::kEdac:
      return absl::StrCat("memory error", where);
    case KernelEventKind::kCrash:
      return absl::StrCat("a crash by signal ", line.code);
    case KernelEventKind::kNvml:
    case KernelEventKind::kSource:
    case KernelEventKind::kUnknown:
      break;
  }
  return "event";
}

std::string WhatIsSaid(const RasClaim& claim) {
  switch (claim.kind) {
    case RasClaimKind::kDead:
      return "is dead";
    case RasClaimKind::kUnresponsive:
      return "does not answer";
    case RasClaimKind::kMissing:
      return "is missing";
    case RasClaimKind::kError:
      return "has failed or was aborted";
    case RasClaimKind::kBehind:
      break;
  }
  return absl::StrFormat("is behind: of its communicator's members, some have launched %d %s and %d have launched less",
                         claim.highest, Name(claim.operation), claim.ranks_behind);
}

// "rank 2", or as NCCL calls a process that nobody recorded: "rank 2 of communicator 0x1f (8 members; NCCL knows it as
// pid 77 on 10.0.0.3)".
std::string RankText(const RasSays& reason) {
  if (reason.rank >= 0) return absl::StrCat("rank ", reason.rank);
  const RasClaim& claim = reason.claim;
  const std::string process =
      claim.host.empty() ? "" : absl::StrCat("; NCCL knows it as pid ", claim.pid, " on ", claim.host);
  return absl::StrFormat("rank %d of communicator 0x%x (%d members%s)", claim.rank, claim.communicator, claim.size,
                         process);
}

}  // namespace

std::string Sentence(const KernelLine& reason) {
  const std::string reported =
      reason.event == KernelEventKind::kNvml
          ? absl::StrCat("NVML on host ", reason.host, " said that ", reason.device, " ", reason.meaning)
          : absl::StrCat("The kernel of host ", reason.host, " reported ", Text(reason));
  if (reason.age_seconds < 0) return absl::StrCat(reported, reason.text.empty() ? "." : ": ", reason.text);
  return absl::StrFormat("%s %.0f s ago: %s", reported, reason.age_seconds, reason.text);
}

std::string Sentence(const HardwareReport& reason) {
  const std::string where = reason.device.empty() ? absl::StrCat("Host ", reason.host)
                                                  : absl::StrCat(reason.device, " of host ", reason.host);
  return absl::StrFormat("%s: %s, %d times, last %.0f s ago.", where, Text(reason.sign), reason.count,
                         reason.age_seconds);
}

std::string Sentence(const ProgramStorm& reason) {
  return absl::StrFormat(
      "%s on %d hosts at one time, %d lines in all: processes of the job failed or were torn down; no machine is to "
      "blame.",
      Text(reason.sign), reason.hosts, reason.lines);
}

std::string Sentence(const RasSays& reason) {
  const std::string again =
      reason.answers > 1 ? absl::StrCat(", now for the ", Ordinal(reason.answers), " time in a row") : "";
  return absl::StrCat("NCCL's RAS service, asked ", Duration(reason.age_seconds), " ago, says that ", RankText(reason),
                      " ", WhatIsSaid(reason.claim), again, ".",
                      reason.contradicted ? " The records do not show that." : "");
}

std::string Sentence(const RasCountsLaunches&) {
  return "The records of operations do not tell more: NCCL counts launches and does not say what a rank waits for.";
}

std::string Sentence(const WaitsForDevice& reason) {
  return absl::StrFormat("Its process waits for a device or a file system (state D) in %.0f %% of the recent reports.",
                         reason.share * 100);
}

std::string Sentence(const CpuTime& reason) {
  const std::string numbers = absl::StrFormat("%s of CPU time per step; its peers use %s (median)",
                                              Duration(reason.seconds), Duration(reason.peer_seconds));
  if (reason.starved) {
    return absl::StrCat("It does not compute more, it gets the CPU too rarely: it uses ", numbers, ".");
  }
  return absl::StrCat("Its process is busy for longer: it uses ", numbers,
                      ". Either it has more to do, or its processor does the same more slowly.");
}

}  // namespace lockstep
