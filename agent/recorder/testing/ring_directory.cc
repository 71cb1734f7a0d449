#include "agent/recorder/testing/ring_directory.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace lockstep::ring {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

RingDirectory::RingDirectory(const std::string& parent) {
  const std::filesystem::path place =
      parent.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(parent);
  std::string name = place / "lockstep-ring-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) abort();
  path_ = name;
}

RingDirectory::~RingDirectory() {
  std::error_code ignored;
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> RingDirectory::Files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string RingDirectory::OnlyRing() const {
  const std::vector<std::string> names = Files();
  return names.size() == 1 ? ReadFile(path_ + "/" + names[0]) : std::string();
}

RingView::RingView(const std::string& bytes)
    : header(*reinterpret_cast<const RingHeader*>(bytes.data())),
      communicators(reinterpret_cast<const CommunicatorEntry*>(bytes.data() + sizeof(RingHeader))),
      slots(reinterpret_cast<const OperationSlot*>(bytes.data() + FileBytes(header.communicator_capacity, 0))) {}

uint64_t RingView::InFlight() const {
  return static_cast<uint64_t>(std::count_if(slots, slots + header.operation_capacity, [](const OperationSlot& slot) {
    return slot.state == static_cast<uint8_t>(OperationState::kEnqueued) ||
           slot.state == static_cast<uint8_t>(OperationState::kStarted);
  }));
}

bool RingView::IsAccountingExact() const {
  return header.counters.enqueued == header.counters.finished + InFlight() + header.counters.lost;
}

}  // namespace lockstep::ring
