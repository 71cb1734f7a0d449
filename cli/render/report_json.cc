#include "cli/render/report_json.h"

#include <cmath>

#include "detector/verdict/verdict.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

double Finite(double value) { return std::isfinite(value) ? value : 0; }

Json CulpritJson(const Culprit& culprit) {
  return {{"host", culprit.host},     {"rank", culprit.rank},           {"gpu", culprit.gpu},
          {"device", culprit.device}, {"peer_host", culprit.peer_host}, {"confidence", Finite(culprit.confidence)}};
}

Json VerdictJson(const Verdict& verdict) {
  Json culprits = Json::array();
  for (const Culprit& culprit : verdict.culprits) culprits.push_back(CulpritJson(culprit));
  Json evidence = Json::array();
  for (const Evidence& piece : verdict.evidence) {
    evidence.push_back(Json{{"kind", Name(piece.kind)}, {"text", piece.text()}});
  }
  return {{"scope", Name(verdict.scope)},
          {"class", Name(verdict.verdict_class)},
          {"culprits", std::move(culprits)},
          {"first_step", verdict.first_step},
          {"last_step", verdict.last_step},
          {"first_seen_ns", verdict.first_seen_ns},
          {"last_seen_ns", verdict.last_seen_ns},
          {"cost",
           {{"slowdown_fraction", Finite(verdict.cost.slowdown_fraction)},
            {"seconds_per_step", Finite(verdict.cost.seconds_per_step)},
            {"steps_affected_fraction", Finite(verdict.cost.steps_affected_fraction)}}},
          {"evidence", std::move(evidence)},
          {"advice", Name(verdict.advice)}};
}

Json LedgerJson(const TimeLedger& ledger) {
  Json lines = Json::array();
  for (const LedgerLine& line : ledger.lines) {
    lines.push_back(Json{{"finding", line.finding}, {"seconds", Finite(line.seconds)}});
  }
  return {{"reference_seconds", Finite(ledger.reference_seconds)},
          {"measured_seconds", Finite(ledger.measured_seconds)},
          {"lines", std::move(lines)},
          {"unexplained_seconds", Finite(ledger.unexplained_seconds)},
          {"error_seconds", Finite(ledger.error_seconds)}};
}

}  // namespace

Json ReportJson(const JobReport& report) {
  Json verdicts = Json::array();
  for (const Verdict& verdict : report.verdicts) verdicts.push_back(VerdictJson(verdict));
  return {{"job", report.job},
          {"ranks", report.ranks},
          {"hosts", report.hosts},
          {"steps", report.steps},
          {"step_seconds_median", Finite(report.step_seconds_median)},
          {"completeness",
           {{"records", report.completeness.records},
            {"missing_ranks", report.completeness.missing_ranks},
            {"lost_records", report.completeness.lost_records}}},
          {"state", Name(report.state)},
          {"verdicts", std::move(verdicts)},
          {"ledger", LedgerJson(report.ledger)}};
}

}  // namespace lockstep
