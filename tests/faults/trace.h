// What happened, line by line: two runs of one seed write the same bytes. The log of the daemons goes between them.

#ifndef LOCKSTEP_TESTS_FAULTS_TRACE_H_
#define LOCKSTEP_TESTS_FAULTS_TRACE_H_

#include <string>

namespace lockstep::faults {

// To stderr, with the time of the world. Single-threaded, as the world is.
void Trace(const std::string& line);

}  // namespace lockstep::faults

#endif  // LOCKSTEP_TESTS_FAULTS_TRACE_H_
