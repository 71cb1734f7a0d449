#include "detector/verdict/reason.h"

namespace lockstep {

std::string Sentence(const Reason& reason) {
  return std::visit([](const auto& kind) { return Sentence(kind); }, reason);
}

}  // namespace lockstep
