// What an episode's judge has to find, in the fields of truth.json.
//
// Pure functions and values; thread-compatible.

#ifndef LOCKSTEP_SIM_SECOND_TRUTH_H_
#define LOCKSTEP_SIM_SECOND_TRUTH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/second/fault.h"
#include "sim/second/world.h"

namespace lockstep::second {

// (step time with - without) / with, where "without" is the same episode played again without the one fault.
struct TrueCost {
  double seconds_per_step = 0;
  double slowdown_fraction = 0;           // of all steps since onset
  double slowdown_fraction_affected = 0;  // of those in which it struck
  double steps_affected_fraction = 0;
};

struct TrueFault {
  std::string kind;
  std::vector<std::string> scopes;   // of a right verdict
  std::vector<std::string> classes;  // of a right verdict
  bool machine_fault = false;        // a machine or the network is to blame
  bool silence_ok = false;           // costs too little, or cannot be told from others
  Fault fault;
  std::vector<std::string> hosts;
  std::vector<int> ranks;
  std::vector<std::string> also_ok;  // hosts that the recording cannot tell from the culprit
  TrueCost cost;
};

struct Truth {
  std::string name;
  uint64_t seed = 0;
  int ranks = 0;
  int steps = 0;
  bool hang = false;
  Shape shape;
  double step_seconds_median = 0;
  double healthy_step_seconds_median = 0;
  int healthy_long_steps = 0;  // longer than 1.3 medians without any fault
  std::vector<std::string> silent_hosts;
  std::vector<TrueFault> faults;
  std::vector<std::string> host_names;
  std::vector<std::string> features;  // of the world
};

// Kind, scopes and classes for a fault of that kind.
TrueFault Described(const Fault& fault);

// truth.json, indented.
std::string TruthText(const Truth& truth);

}  // namespace lockstep::second

#endif  // LOCKSTEP_SIM_SECOND_TRUTH_H_
