// Two reports about what should be the same job, held against each other.
//
// Each function says in one line what is wrong, or nothing. Pure; thread-safe.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_REPORT_COMPARISON_H_
#define LOCKSTEP_EVAL_METAMORPHIC_REPORT_COMPARISON_H_

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "detector/verdict/job_report.h"
#include "detector/verdict/verdict.h"

namespace lockstep {

// Whether some culprit is named by a finding that blames: a machine, the network, or software of a rank.
bool BlamesSomebody(const Verdict& verdict);

// Hosts that some finding blames, both ends of a link included.
std::set<std::string> AccusedHosts(const JobReport& report);
// Hosts that some finding names, whether it blames them or not.
std::set<std::string> NamedHosts(const JobReport& report);

// The findings, states, counts and sentences are the same, byte for byte. Times of day are left out.
std::string Difference(const JobReport& expected, const JobReport& found);

// The same, but for the order of findings that cost the same and of culprits that are as likely, of the ends of a link
// and of the words of a sentence: which come first may depend on names. So may the order of a sum: numbers may differ
// by half a per cent.
std::string DifferenceInAnyOrder(const JobReport& expected, const JobReport& found);

// The same findings about the same culprits, at the same share of the step time; all seconds are `factor` times as
// many.
std::string DifferenceInUnits(const JobReport& expected, const JobReport& found, double factor);

// Nobody is accused whom `allowed` does not name, and not more than `findings` accuse, or one for each that is allowed.
std::string Strengthened(const std::set<std::string>& allowed, size_t findings, const JobReport& found);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_REPORT_COMPARISON_H_
