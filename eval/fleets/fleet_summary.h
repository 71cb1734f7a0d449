// What many episodes of the second simulator give together: by kind, by feature of the world, over all.
//
// Pure functions and values; thread-compatible.

#ifndef LOCKSTEP_EVAL_FLEETS_FLEET_SUMMARY_H_
#define LOCKSTEP_EVAL_FLEETS_FLEET_SUMMARY_H_

#include <map>
#include <string>
#include <vector>

#include "eval/fleets/fleet_run.h"
#include "eval/report/figures.h"
#include "eval/report/measure.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

struct FleetRow {
  Rate right;
  Rate top1;
  Rate exact;
  Rate class_right;
  int innocents = 0;          // hosts
  int accusing_episodes = 0;  // in which somebody innocent was accused
  int unsound = 0;
  std::vector<double> cost_errors;
};

struct FleetSummary {
  FleetRow all;
  FleetRow quiet;  // healthy, structural, job-wide: nobody is to be accused
  std::map<std::string, FleetRow> kinds;
  std::map<std::string, FleetRow> features;
  std::vector<FleetOutcome> failures;  // not flawless; by number
};

FleetSummary SummarizeFleets(const std::vector<FleetOutcome>& outcomes);

// Top-1, innocents and classes against what is aimed at.
std::vector<Measure> FleetMeasures(const FleetSummary& summary);

nlohmann::ordered_json FleetJson(const FleetSummary& summary);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_FLEETS_FLEET_SUMMARY_H_
