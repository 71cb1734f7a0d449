#include "agent/stacks/native_sampler.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace lockstep {

NativeSample NativeSampler::Sample(const ThreadList& threads) {
  NativeSample sample;
  if (!NativeReader::kIsSupported || !threads.has_syscalls) return sample;
  reader_.BeginSample();
  const size_t first = next_, count = threads.threads.size();
  bool is_fresh = true, is_spent = false;
  for (size_t i = 0; i < count; ++i) {
    const size_t index = (first + i) % count;
    const KernelThread& thread = threads.threads[index];
    if (thread.place.pc == 0) {
      ++running_;
      continue;
    }
    if (too_much_.count(thread.tid) > 0) {
      ++unread_;
      continue;
    }
    NativeStack stack = reader_.Read(thread.place.pc, thread.place.stack_pointer);
    if (reader_.spent()) {
      ++unread_;
      if (is_fresh) too_much_.insert(thread.tid);
      if (!is_spent) next_ = index;
      is_fresh = false;
      is_spent = true;
      continue;
    }
    is_fresh = false;
    if (ReadThreadPlace(root_, pid_, thread.tid).text != thread.place.text) {
      ++sample.lost;
      continue;
    }
    if (stack.frames.empty()) continue;
    ++stacks_;
    cut_ += stack.cut ? 1 : 0;
    searched_ += stack.searched > 0 ? 1 : 0;
    sample.stacks.emplace_back(thread.tid, std::move(stack));
  }
  return sample;
}

std::vector<std::string> NativeSampler::LeftOut() const {
  if (!NativeReader::kIsSupported) return {"no functions of C: only those of x86-64 can be read"};
  std::vector<std::string> sentences;
  if (running_ > 0) {
    sentences.push_back(
        absl::StrCat("no functions of C in ", running_, " samples of threads that ran: they would have to be stopped"));
  }
  if (unread_ > 0) {
    sentences.push_back(
        absl::StrCat("no functions of C in ", unread_, " samples of threads: reading them took too much work or time"));
  }
  if (cut_ > 0) {
    sentences.push_back(
        absl::StrCat("the outermost functions of C are missing in ", cut_, " of ", stacks_, " samples"));
  }
  if (searched_ > 0) {
    sentences.push_back(
        absl::StrCat("in ", searched_, " of ", stacks_,
                     " samples callers in C were searched for on the stack: code without unwind tables, "
                     "or with frame pointers"));
  }
  if (reader_.files_without_names() > 0) {
    sentences.push_back(absl::StrCat("no names of functions of ", reader_.files_without_names(), " files: too many"));
  }
  return sentences;
}

}  // namespace lockstep
