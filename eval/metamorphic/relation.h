// Metamorphic relations: a recording is changed in a way of which everybody knows what it must do to the verdicts,
// without knowing what is right about the recording itself.
//
// Immutable; thread-safe.

#ifndef LOCKSTEP_EVAL_METAMORPHIC_RELATION_H_
#define LOCKSTEP_EVAL_METAMORPHIC_RELATION_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/random.h"
#include "eval/metamorphic/subject.h"

namespace lockstep {

enum class TrialResult : uint8_t { kNotApplicable, kHolds, kContradicts };

struct Trial {
  TrialResult result = TrialResult::kNotApplicable;
  std::string what;  // what contradicts, or why it cannot be tried
};

struct Relation {
  absl::string_view name;
  absl::string_view what;  // one line: the change, and what must follow
  bool random;             // another trial changes the recording in another way
  Trial (*run)(Subject& subject, Random& random);
};

// In the order of the table.
absl::Span<const Relation> AllRelations();
const Relation* FindRelation(absl::string_view name);  // nullptr = unknown

// One trial. The same recording, relation and number give the same trial on every machine.
Trial RunTrial(const Relation& relation, uint64_t number, Subject& subject);

}  // namespace lockstep

#endif  // LOCKSTEP_EVAL_METAMORPHIC_RELATION_H_
