#include "agent/stacks/stack_tally.h"

#include <algorithm>
#include <tuple>

namespace lockstep {
namespace {

constexpr size_t kBytesOfStack = 128;  // a node of a map
// What a field of an answer has at most beside its text: a tag, and a length or a number.
constexpr size_t kBytesOfField = 6;

// Adds threads and stacks to an answer for as long as there is room.
class AnswerWriter {
 public:
  AnswerWriter(wire::StackDump& dump, size_t max_bytes) : dump_(dump), left_(max_bytes) {}

  // nullptr = there is no room for one more.
  wire::ThreadStacks* AddThread(const std::string& name) {
    return Take(6 * kBytesOfField + name.size()) ? dump_.add_threads() : nullptr;
  }

  // False = there is no room for it.
  template <typename Stacks>
  bool AddStack(const std::vector<std::string>& frames, bool cut, uint32_t count, Stacks& stacks) {
    size_t bytes = (4 + frames.size()) * kBytesOfField;
    for (const std::string& frame : frames) {
      if (index_.count(frame) == 0) bytes += kBytesOfField + frame.size();
    }
    if (!Take(bytes)) return false;
    wire::FoldedStack& stack = *stacks.Add();
    for (const std::string& frame : frames) stack.add_frames(IndexOf(frame));
    stack.set_count(count);
    stack.set_cut(cut);
    return true;
  }

 private:
  bool Take(size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  // Each text once.
  uint32_t IndexOf(const std::string& name) {
    const auto [place, is_new] = index_.try_emplace(name, static_cast<uint32_t>(index_.size()));
    if (is_new) dump_.add_names(name);
    return place->second;
  }

  wire::StackDump& dump_;
  size_t left_;
  std::map<std::string, uint32_t> index_;
};

}  // namespace

void StackTally::Count(Frames frames, std::map<Frames, uint32_t>& stacks) {
  const auto found = stacks.find(frames);
  if (found != stacks.end()) {
    ++found->second;
    return;
  }
  size_t bytes = kBytesOfStack;
  for (const std::string& frame : frames.first) bytes += sizeof frame + frame.capacity() + 1;
  if (stacks.size() == kMaxStacksOfThread || kept_bytes_ + bytes > kMaxKeptBytes) {
    ++lost_;
    return;
  }
  kept_bytes_ += bytes;
  stacks.emplace(std::move(frames), 1);
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
  std::vector<int32_t> order;
  for (const auto& [tid, thread] : threads_) order.push_back(tid);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::tuple(a != pid, threads_.at(a).python.empty(), a) <
           std::tuple(b != pid, threads_.at(b).python.empty(), b);
  });
  AnswerWriter writer(dump, kMaxBytes);
  uint64_t lost = lost_;
  const auto fill = [&](const std::map<Frames, uint32_t>& stacks, auto& to) {
    std::vector<std::pair<uint32_t, const Frames*>> by_count;
    for (const auto& [frames, count] : stacks) by_count.push_back({count, &frames});
    std::stable_sort(by_count.begin(), by_count.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [count, frames] : by_count) {
      if (!writer.AddStack(frames->first, frames->second, count, to)) lost += count;
    }
  };
  size_t taken = 0;
  for (; taken < order.size() && taken < kMaxThreads && lost == lost_; ++taken) {
    const Thread& thread = threads_.at(order[taken]);
    wire::ThreadStacks* const to = writer.AddThread(thread.name);
    if (to == nullptr) break;
    to->set_tid(order[taken]);
    to->set_name(thread.name);
    to->set_state(std::string(1, thread.state));
    to->set_main(order[taken] == pid);
    fill(thread.python, *to->mutable_python());
    fill(thread.native, *to->mutable_native());
    fill(thread.kernel, *to->mutable_kernel());
  }
  dump.set_stacks_lost(static_cast<uint32_t>(lost));
  dump.set_threads_left_out(static_cast<uint32_t>(left_out_ + order.size() - taken));
}

}  // namespace lockstep
