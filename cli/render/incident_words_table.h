// The words of `lockstep explain` for the classes and advice that a detector may give. Immutable; thread-safe.

#ifndef LOCKSTEP_CLI_RENDER_INCIDENT_WORDS_TABLE_H_
#define LOCKSTEP_CLI_RENDER_INCIDENT_WORDS_TABLE_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace lockstep {

struct Words {
  absl::string_view name;  // of the JSON interface: "compute_slow"
  absl::string_view text;
};

// By class: what the culprit does, as a clause that follows its name.
absl::Span<const Words> ClassWords();

// By the name on the wire: the state of an incident that is resolved. "job died": nobody has seen its cause go.
absl::Span<const Words> ResolutionWords();

// By advice: a sentence.
absl::Span<const Words> AdviceWords();

// The text of `name`, or `name` itself.
absl::string_view FindWords(absl::Span<const Words> table, absl::string_view name);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_INCIDENT_WORDS_TABLE_H_
