// Patterns of ranks as people and programs read them. Pure.

#ifndef LOCKSTEP_CLI_RENDER_PATTERN_TEXT_H_
#define LOCKSTEP_CLI_RENDER_PATTERN_TEXT_H_

#include <cstddef>
#include <string>

#include "detector/patterns/rank_patterns.h"
#include "nlohmann/json_fwd.hpp"

namespace lockstep {

// The table of one rank: at most `rows` functions, those with the most time first.
std::string PatternText(const RankPatterns& patterns, size_t rows, int width);

// What differs between two: at most `rows` functions, those whose share of the window differs most first.
std::string PatternDifferenceText(const RankPatterns& first, const RankPatterns& second, size_t rows, int width);

// At most kMostPatternBytes and a few hundred more on one line, without rounding errors that anybody sees.
nlohmann::ordered_json PatternJson(const RankPatterns& patterns);

}  // namespace lockstep

#endif  // LOCKSTEP_CLI_RENDER_PATTERN_TEXT_H_
