#include "detector/patterns/function_kind.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace lockstep {
namespace {

constexpr const char* kNames[] = {"GPU kernel", "copy", "collective", "driver call", "operator", "Python", "range"};
static_assert(std::size(kNames) == kFunctionKinds);

}  // namespace

const char* Name(FunctionKind kind) { return kNames[static_cast<size_t>(kind)]; }

int PriorityOf(FunctionKind kind) { return std::min(static_cast<int>(kind), static_cast<int>(FunctionKind::kRuntime)); }

}  // namespace lockstep
