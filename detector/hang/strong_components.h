// The strong components of a directed graph: Tarjan 1972, with a stack instead of recursion. Pure.

#ifndef LOCKSTEP_DETECTOR_HANG_STRONG_COMPONENTS_H_
#define LOCKSTEP_DETECTOR_HANG_STRONG_COMPONENTS_H_

#include <cstdint>
#include <vector>

namespace lockstep {

struct StrongComponents {
  std::vector<int32_t> of;                  // component of each node
  std::vector<std::vector<int32_t>> nodes;  // of each component, rising
  std::vector<char> sink;                   // per component: no edge leaves it
};

// `edges[n]` are the nodes that n leads to; all in [0, edges.size()). Cost O(nodes + edges).
StrongComponents FindStrongComponents(const std::vector<std::vector<int32_t>>& edges);

}  // namespace lockstep

#endif  // LOCKSTEP_DETECTOR_HANG_STRONG_COMPONENTS_H_
