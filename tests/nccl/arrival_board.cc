#include "tests/nccl/arrival_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/check.h"

namespace lockstep::nccl {

ArrivalBoard::ArrivalBoard(const std::string& path) {
  constexpr size_t kBytes = sizeof(Arrival) * kOperations * kMaxRanks;
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  CHECK(fd >= 0);
  CHECK(ftruncate(fd, kBytes) == 0);  // zeroes: nobody has arrived
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(memory != MAP_FAILED);
  close(fd);
  arrivals_ = static_cast<Arrival*>(memory);
}

void ArrivalBoard::Arrive(uint64_t operation, int rank, int64_t at_ns) {
  Arrival& arrival = At(operation, rank);
  arrival.at_ns.store(at_ns, std::memory_order_relaxed);
  arrival.operation.store(operation + 1, std::memory_order_release);
}

int64_t ArrivalBoard::LastArrival(uint64_t operation, int first, int last) const {
  int64_t last_ns = 0;
  for (int rank = first; rank <= last; ++rank) {
    const Arrival& arrival = At(operation, rank);
    if (arrival.operation.load(std::memory_order_acquire) != operation + 1) return 0;
    last_ns = std::max(last_ns, arrival.at_ns.load(std::memory_order_relaxed));
  }
  return last_ns;
}

}  // namespace lockstep::nccl
