#include "agent/stacks/stack_tally.h"

#include <algorithm>
#include <tuple>

namespace lockstep {
namespace {

// Texts of an answer, each once.
class NameTable {
 public:
  explicit NameTable(wire::StackDump& dump) : dump_(dump) {}

  uint32_t IndexOf(const std::string& name) {
    const auto [place, is_new] = index_.try_emplace(name, static_cast<uint32_t>(index_.size()));
    if (is_new) dump_.add_names(name);
    return place->second;
  }

 private:
  wire::StackDump& dump_;
  std::map<std::string, uint32_t> index_;
};

}  // namespace

void StackTally::Count(Frames frames, std::map<Frames, uint32_t>& stacks) {
  const auto found = stacks.find(frames);
  if (found != stacks.end()) {
    ++found->second;
  } else if (stacks.size() < kMaxStacksOfThread) {
    stacks.emplace(std::move(frames), 1);
  } else {
    ++lost_;
  }
}

void StackTally::Add(const ThreadList& kernel, const PythonSample& python, const NativeSample& native) {
  torn_ += python.torn;
  lost_ += python.lost + native.lost;
  left_out_ = std::max(left_out_, kernel.left_out + python.left_out);
  for (const KernelThread& listed : kernel.threads) {
    if (threads_.size() >= kMaxListedThreads && threads_.count(listed.tid) == 0) continue;
    Thread& thread = threads_[listed.tid];
    thread.name = listed.name;
    thread.state = listed.state;
    if (!listed.frames.empty()) Count({listed.frames, false}, thread.kernel);
  }
  for (const PythonStack& stack : python.stacks) {
    const auto thread = threads_.find(stack.tid);
    if (thread != threads_.end()) Count({stack.frames, stack.cut}, thread->second.python);
  }
  for (const auto& [tid, stack] : native.stacks) {
    const auto thread = threads_.find(tid);
    if (thread != threads_.end()) Count({stack.frames, stack.cut}, thread->second.native);
  }
}

void StackTally::Fill(int32_t pid, wire::StackDump& dump) const {
  dump.set_torn_reads(static_cast<uint32_t>(torn_));
  dump.set_stacks_lost(static_cast<uint32_t>(lost_));
  std::vector<int32_t> order;
  for (const auto& [tid, thread] : threads_) order.push_back(tid);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::tuple(a != pid, threads_.at(a).python.empty(), a) <
           std::tuple(b != pid, threads_.at(b).python.empty(), b);
  });
  NameTable names(dump);
  const auto fill = [&](const std::map<Frames, uint32_t>& stacks, auto* to) {
    std::vector<std::pair<uint32_t, const Frames*>> by_count;
    for (const auto& [frames, count] : stacks) by_count.push_back({count, &frames});
    std::stable_sort(by_count.begin(), by_count.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [count, frames] : by_count) {
      wire::FoldedStack& stack = *to->Add();
      for (const std::string& frame : frames->first) stack.add_frames(names.IndexOf(frame));
      stack.set_count(count);
      stack.set_cut(frames->second);
    }
  };
  size_t taken = 0;
  for (; taken < order.size() && taken < kMaxThreads && dump.ByteSizeLong() < kMaxBytes; ++taken) {
    const Thread& thread = threads_.at(order[taken]);
    wire::ThreadStacks& to = *dump.add_threads();
    to.set_tid(order[taken]);
    to.set_name(thread.name);
    to.set_state(std::string(1, thread.state));
    to.set_main(order[taken] == pid);
    fill(thread.python, to.mutable_python());
    fill(thread.native, to.mutable_native());
    fill(thread.kernel, to.mutable_kernel());
  }
  dump.set_threads_left_out(static_cast<uint32_t>(left_out_ + order.size() - taken));
}

}  // namespace lockstep
