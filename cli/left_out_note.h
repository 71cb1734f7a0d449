// The line on standard error that says that a list is not all there is. Nothing is printed if it is.
//
// Not thread-safe.

#ifndef LOCKSTEP_CLI_LEFT_OUT_NOTE_H_
#define LOCKSTEP_CLI_LEFT_OUT_NOTE_H_

#include <cstdint>
#include <ostream>

namespace lockstep {

// `rows` says of what, in the plural: "agents".
inline void PrintLeftOutNote(uint32_t left_out, const char* rows, std::ostream& err) {
  if (left_out > 0) err << "lockstep: " << left_out << " more " << rows << " than one answer holds are left out\n";
}

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_LEFT_OUT_NOTE_H_
