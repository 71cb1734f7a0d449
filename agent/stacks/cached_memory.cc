#include "agent/stacks/cached_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lockstep {

const CachedMemory::Page* CachedMemory::Fetch(uint64_t number) {
  if (const auto known = pages_.find(number); known != pages_.end()) return known->second.get();
  auto page = std::make_unique<Page>();
  if (!memory_.Read(number * kPageBytes, page->data(), kPageBytes)) page.reset();
  // Nobody knows whether it could be read.
  if (budget_.spent()) return nullptr;
  if (pages_.size() >= max_pages_) pages_.clear();
  return pages_.emplace(number, std::move(page)).first->second.get();
}

bool CachedMemory::Read(uint64_t address, void* to, size_t bytes) {
  if (!budget_.Take(1 + bytes / kBytesOfUnit)) return false;
  char* out = static_cast<char*>(to);
  while (bytes > 0) {
    const uint64_t within = address % kPageBytes;
    const size_t taken = std::min<size_t>(bytes, kPageBytes - within);
    const Page* const page = Fetch(address / kPageBytes);
    if (page == nullptr) return false;
    std::memcpy(out, page->data() + within, taken);
    out += taken;
    address += taken;
    bytes -= taken;
  }
  return true;
}

}  // namespace lockstep
