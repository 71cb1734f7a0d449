#include "tests/nccl/train_fault.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <string>

namespace lockstep::nccl {

TrainFault ReadTrainFault(const std::string& path) {
  char text[64];
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return {};
  text[length] = '\0';
  char kind[16];
  TrainFault fault;
  if (sscanf(text, "%15s %d %lf", kind, &fault.rank, &fault.factor) != 3) return {};
  fault.kind = kind;
  return fault;
}

}  // namespace lockstep::nccl
