// What breaks a played job: one line of a file that its processes look at once per step.
//
// "KIND RANK FACTOR"; which kinds there are says the program. Thread-compatible plain values.

#ifndef LOCKSTEP_TESTS_NCCL_TRAIN_FAULT_H_
#define LOCKSTEP_TESTS_NCCL_TRAIN_FAULT_H_

#include <string>

namespace lockstep::nccl {

struct TrainFault {
  std::string kind;  // "" = healthy
  int rank = -1;
  double factor = 1;

  bool Is(const char* of_kind, int of_rank) const { return kind == of_kind && rank == of_rank; }
};

// Healthy where the file is missing, empty or says nothing of that form.
TrainFault ReadTrainFault(const std::string& path);

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_TRAIN_FAULT_H_
