// What a record of the audit is about. Each kind has limits of its own (audit_records.h). Plain value;
// thread-compatible.

#ifndef LOCKSTEP_COLLECTOR_STORE_AUDIT_KIND_H_
#define LOCKSTEP_COLLECTOR_STORE_AUDIT_KIND_H_

#include <cstddef>
#include <cstdint>

namespace lockstep {

// DO NOT CHANGE: written to disk.
enum class AuditKind : uint8_t {
  kChange = 0,   // somebody who may has asked for it
  kRefusal = 1,  // somebody called who may not
};
inline constexpr size_t kAuditKinds = 2;

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTOR_STORE_AUDIT_KIND_H_
