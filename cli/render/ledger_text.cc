#include "cli/render/ledger_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/render/quantity_text.h"
#include "cli/render/text_table.h"

namespace lockstep {
namespace {

constexpr TextTable::Align kRight = TextTable::Align::kRight;
// What is below the resolution of any clock is rounding.
constexpr double kLeastSeconds = 1e-9;

std::string ShareText(double seconds) { return seconds < kLeastSeconds ? "nothing" : SecondsText(seconds); }

TimeLedger LedgerOf(const wire::TimeLedger& message) {
  TimeLedger ledger;
  ledger.reference_seconds = message.reference_seconds();
  ledger.measured_seconds = message.measured_seconds();
  ledger.unexplained_seconds = message.unexplained_seconds();
  ledger.error_seconds = message.error_seconds();
  for (const wire::LedgerLine& line : message.lines()) ledger.lines.push_back({line.finding(), line.seconds()});
  return ledger;
}

// "120 ms (9.2 %)" of a step.
std::string GainText(double seconds, const wire::TimeLedger& ledger) {
  if (seconds < kLeastSeconds) return "nothing";
  return absl::StrCat(SecondsText(seconds), " (", PercentText(seconds / ledger.measured_seconds()), ")");
}

}  // namespace

std::string LedgerText(const TimeLedger& ledger) {
  if (ledger.empty() || (ledger.lines.empty() && ledger.unexplained_seconds <= ledger.error_seconds)) return "";
  std::string text = absl::StrCat("a step takes ", SecondsText(ledger.measured_seconds),
                                  " (mean): ", SecondsText(ledger.reference_seconds), " that it needs");
  for (const LedgerLine& line : ledger.lines) {
    absl::StrAppend(&text, " + ", ShareText(line.seconds), " ", line.seconds < kLeastSeconds ? "of " : "",
                    Printable(line.finding));
  }
  const double unexplained = std::abs(ledger.unexplained_seconds);
  absl::StrAppend(&text, ledger.unexplained_seconds < -kLeastSeconds ? " - " : " + ", ShareText(unexplained),
                  " unexplained (error ", SecondsText(ledger.error_seconds), ")");
  return text;
}

std::string LedgersText(const wire::ListJobsResponse& jobs, int64_t now_wall_ns) {
  std::string text;
  for (const wire::Job& job : jobs.jobs()) {
    const std::string line = LedgerText(LedgerOf(job.ledger()));
    if (line.empty()) continue;
    absl::StrAppend(&text, Printable(job.job()), ": ", line);
    const int64_t seen_ns = job.ledger().seen_wall_ns();
    if (seen_ns != 0) absl::StrAppend(&text, ", as of ", AgeText(seen_ns, now_wall_ns), " ago");
    text += "\n";
  }
  return text;
}

std::string LedgerShareText(const wire::LedgerShare& share) {
  const double lost = share.measured_seconds() - share.reference_seconds();
  const double unexplained = std::max(share.unexplained_seconds(), 0.0);
  return absl::StrCat("In the mean of all steps seen until ", WallText(share.seen_wall_ns()), ", ",
                      SecondsText(share.measured_seconds()), ", ", ShareText(lost),
                      " was lost: ", ShareText(share.seconds()), " to this, ",
                      ShareText(lost - share.seconds() - unexplained), " to other findings, ", ShareText(unexplained),
                      " unexplained.");
}

std::string WhatIfText(const wire::Job& job, int width, bool coloured) {
  std::string text = absl::StrCat(Printable(job.job()), ": ", absl::AsciiStrToUpper(Printable(job.state())), "\n");
  const std::string ledger = LedgerText(LedgerOf(job.ledger()));
  if (!ledger.empty()) absl::StrAppend(&text, ledger, "\n");
  if (job.ledger().remedies().empty()) {
    return absl::StrCat(text, ledger.empty()
                                  ? "no step is known to take longer than it needs: there is nothing to remove\n"
                                  : "nothing is known whose removal would give time back\n");
  }
  TextTable table({{"#", kRight}, {"ALONE", kRight}, {"WITH THOSE ABOVE", kRight}, {"ACTION"}, {"BECAUSE OF"}});
  bool all_replayed = true;
  for (int i = 0; i < job.ledger().remedies_size(); ++i) {
    const wire::Remedy& remedy = job.ledger().remedies(i);
    all_replayed = all_replayed && remedy.replayed();
    table.AddRow({absl::StrCat(i + 1, remedy.replayed() ? "" : "*"), GainText(remedy.alone_seconds(), job.ledger()),
                  GainText(remedy.together_seconds(), job.ledger()), remedy.action(), remedy.finding()});
  }
  absl::StrAppend(&text, table.Render(width, coloured),
                  "Seconds per step that are given back. They do not add up: what hides behind another gives back "
                  "nothing alone.\n");
  if (!all_replayed) text += "* not replayed: what the ledger says for it\n";
  return text;
}

}  // namespace lockstep
