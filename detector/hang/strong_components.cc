#include "detector/hang/strong_components.h"

#include <algorithm>
#include <cstddef>

namespace lockstep {
namespace {

class Tarjan {
 public:
  explicit Tarjan(const std::vector<std::vector<int32_t>>& edges)
      : edges_(edges), index_(edges.size(), -1), low_(edges.size(), 0), on_path_(edges.size(), 0) {
    found_.of.assign(edges.size(), -1);
  }

  StrongComponents Run() {
    for (size_t node = 0; node < edges_.size(); ++node) {
      if (index_[node] < 0) Explore(static_cast<int32_t>(node));
    }
    found_.sink.assign(found_.nodes.size(), 1);
    for (size_t node = 0; node < edges_.size(); ++node) {
      for (const int32_t next : edges_[node]) {
        if (found_.of[static_cast<size_t>(next)] != found_.of[node]) {
          found_.sink[static_cast<size_t>(found_.of[node])] = 0;
        }
      }
    }
    return std::move(found_);
  }

 private:
  struct Frame {
    int32_t node;
    size_t next_edge;
  };

  void Enter(int32_t node) {
    index_[static_cast<size_t>(node)] = low_[static_cast<size_t>(node)] = counter_++;
    on_path_[static_cast<size_t>(node)] = 1;
    path_.push_back(node);
    stack_.push_back({node, 0});
  }

  void Explore(int32_t start) {
    Enter(start);
    while (!stack_.empty()) {
      const auto node = static_cast<size_t>(stack_.back().node);
      if (stack_.back().next_edge < edges_[node].size()) {
        const auto next = static_cast<size_t>(edges_[node][stack_.back().next_edge++]);
        if (index_[next] < 0) {
          Enter(static_cast<int32_t>(next));
        } else if (on_path_[next] != 0) {
          low_[node] = std::min(low_[node], index_[next]);
        }
        continue;
      }
      stack_.pop_back();
      if (!stack_.empty()) {
        const auto parent = static_cast<size_t>(stack_.back().node);
        low_[parent] = std::min(low_[parent], low_[node]);
      }
      if (low_[node] == index_[node]) Close(node);
    }
  }

  void Close(size_t root) {
    std::vector<int32_t> nodes;
    int32_t node = -1;
    do {
      node = path_.back();
      path_.pop_back();
      on_path_[static_cast<size_t>(node)] = 0;
      found_.of[static_cast<size_t>(node)] = static_cast<int32_t>(found_.nodes.size());
      nodes.push_back(node);
    } while (static_cast<size_t>(node) != root);
    std::sort(nodes.begin(), nodes.end());
    found_.nodes.push_back(std::move(nodes));
  }

  const std::vector<std::vector<int32_t>>& edges_;
  std::vector<int32_t> index_;
  std::vector<int32_t> low_;
  std::vector<char> on_path_;
  std::vector<int32_t> path_;
  std::vector<Frame> stack_;
  int32_t counter_ = 0;
  StrongComponents found_;
};

}  // namespace

StrongComponents FindStrongComponents(const std::vector<std::vector<int32_t>>& edges) { return Tarjan(edges).Run(); }

}  // namespace lockstep
