// A program that makes every MPI call that the recorder knows, on 4 ranks, and prints what it computed. It runs the
// same with and without the recorder; mpi_recorder_test compares the two and reads the rings.

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <vector>

namespace {

constexpr int kRanks = 4;
constexpr int kTag = 5;

int g_rank = -1;
unsigned long long g_checksum = 1469598103934665603ULL;

void Digest(int value) { g_checksum = (g_checksum ^ static_cast<unsigned>(value)) * 1099511628211ULL; }
void Digest(const std::vector<int>& values) {
  for (int value : values) Digest(value);
}

std::vector<int> Numbers(int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(100 * g_rank + i);
  return numbers;
}

void BlockingCollectives(MPI_Comm comm) {
  std::vector<int> in = Numbers(8);
  std::vector<int> out(32);
  const std::vector<int> counts(kRanks, 2);
  const int at[kRanks] = {0, 2, 4, 6};
  MPI_Allreduce(in.data(), out.data(), 8, MPI_INT, MPI_SUM, comm);
  MPI_Allreduce(MPI_IN_PLACE, out.data(), 8, MPI_INT, MPI_MAX, comm);
  MPI_Reduce_scatter(in.data(), out.data() + 8, counts.data(), MPI_INT, MPI_SUM, comm);
  MPI_Reduce_scatter_block(in.data(), out.data() + 10, 2, MPI_INT, MPI_SUM, comm);
  MPI_Allgather(in.data(), 2, MPI_INT, out.data() + 12, 2, MPI_INT, comm);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data() + 12, 2, MPI_INT, comm);
  MPI_Allgatherv(in.data(), 2, MPI_INT, out.data() + 20, counts.data(), at, MPI_INT, comm);
  Digest(out);
  MPI_Alltoall(in.data(), 2, MPI_INT, out.data(), 2, MPI_INT, comm);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), 2, MPI_INT, comm);
  MPI_Alltoallv(in.data(), counts.data(), at, MPI_INT, out.data() + 8, counts.data(), at, MPI_INT, comm);
  MPI_Bcast(in.data(), 4, MPI_INT, 2, comm);
  MPI_Reduce(in.data(), out.data() + 16, 4, MPI_INT, MPI_SUM, 1, comm);
  MPI_Gather(in.data(), 2, MPI_INT, out.data() + 20, 2, MPI_INT, 3, comm);
  MPI_Scatter(in.data(), 2, MPI_INT, out.data() + 28, 2, MPI_INT, 0, comm);
  MPI_Barrier(comm);
  Digest(out);
  Digest(in);
}

void NonBlockingCollectives(MPI_Comm comm) {
  std::vector<int> in = Numbers(4);
  std::vector<int> out(20);
  MPI_Request requests[4];
  MPI_Iallreduce(in.data(), out.data(), 4, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Iallgather(in.data(), 4, MPI_INT, out.data() + 4, 4, MPI_INT, comm, &requests[1]);
  MPI_Ibcast(in.data(), 0, MPI_INT, 0, comm, &requests[2]);
  MPI_Ibarrier(comm, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  for (MPI_Request request : requests) Digest(request == MPI_REQUEST_NULL ? 1 : 0);
  Digest(out);
}

void BlockingMessages(MPI_Comm comm) {
  const int partner = g_rank ^ 1;
  int sent = g_rank + 7;
  int received[3] = {};
  MPI_Status status;
  if (g_rank % 2 == 0) {
    MPI_Send(&sent, 1, MPI_INT, partner, kTag, comm);
    MPI_Recv(&received[0], 1, MPI_INT, partner, kTag, comm, MPI_STATUS_IGNORE);
    MPI_Ssend(&sent, 1, MPI_INT, partner, kTag, comm);
    MPI_Recv(&received[1], 1, MPI_INT, MPI_ANY_SOURCE, kTag, comm, &status);
  } else {
    MPI_Recv(&received[0], 1, MPI_INT, partner, kTag, comm, &status);
    MPI_Send(&sent, 1, MPI_INT, partner, kTag, comm);
    MPI_Recv(&received[1], 1, MPI_INT, MPI_ANY_SOURCE, kTag, comm, MPI_STATUS_IGNORE);
    MPI_Ssend(&sent, 1, MPI_INT, partner, kTag, comm);
    status.MPI_SOURCE = partner;
  }
  Digest(status.MPI_SOURCE);
  const int ring_tag = kTag + 1;  // out of reach of the receives from any source
  MPI_Sendrecv(&sent, 1, MPI_INT, (g_rank + 1) % kRanks, ring_tag, &received[2], 1, MPI_INT, (g_rank + 3) % kRanks,
               ring_tag, comm, MPI_STATUS_IGNORE);
  MPI_Send(&sent, 1, MPI_INT, MPI_PROC_NULL, kTag, comm);
  for (int value : received) Digest(value);
}

// Exchanges one number with the partner and completes the two requests with `complete`.
template <typename Complete>
void Exchange(MPI_Comm comm, int from, Complete complete) {
  int sent = g_rank * 3;
  int received = -1;
  MPI_Request requests[2];
  MPI_Irecv(&received, 1, MPI_INT, from, kTag, comm, &requests[0]);
  MPI_Isend(&sent, 1, MPI_INT, g_rank ^ 1, kTag, comm, &requests[1]);
  complete(requests);
  Digest(received);
  Digest(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL ? 1 : 0);
}

void EveryWayToComplete(MPI_Comm comm) {
  const int partner = g_rank ^ 1;
  Exchange(comm, partner, [](MPI_Request* requests) {
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  });
  Exchange(comm, MPI_ANY_SOURCE, [](MPI_Request* requests) {
    MPI_Status statuses[2];
    MPI_Waitall(2, requests, statuses);
    Digest(statuses[0].MPI_SOURCE);
  });
  Exchange(comm, partner, [](MPI_Request* requests) {
    for (int i = 0; i < 2; ++i) {
      int index = -1;
      MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    }
  });
  Exchange(comm, MPI_ANY_SOURCE, [](MPI_Request* requests) {
    for (int done = 0; done < 2;) {
      int completed = 0;
      int indices[2];
      MPI_Status statuses[2];
      MPI_Waitsome(2, requests, &completed, indices, statuses);
      done += completed;
    }
  });
  Exchange(comm, partner, [](MPI_Request* requests) {
    for (int i = 0; i < 2; ++i) {
      for (int flag = 0; flag == 0;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    }
  });
  Exchange(comm, partner, [](MPI_Request* requests) {
    for (int flag = 0; flag == 0;) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
  });
  Exchange(comm, partner, [](MPI_Request* requests) {
    for (int done = 0; done < 2;) {
      int index = -1;
      int flag = 0;
      MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
      if (flag != 0) ++done;
    }
  });
  Exchange(comm, partner, [](MPI_Request* requests) {
    for (int done = 0; done < 2;) {
      int completed = 0;
      int indices[2];
      MPI_Testsome(2, requests, &completed, indices, MPI_STATUSES_IGNORE);
      done += completed;
    }
  });
}

void FreedAndPersistentRequests(MPI_Comm comm) {
  int sent = g_rank;
  int received = -1;
  MPI_Request request;
  MPI_Isend(&sent, 1, MPI_INT, g_rank ^ 1, kTag, comm, &request);
  MPI_Request_free(&request);
  MPI_Recv(&received, 1, MPI_INT, g_rank ^ 1, kTag, comm, MPI_STATUS_IGNORE);
  Digest(received);
  MPI_Request persistent[2];
  MPI_Recv_init(&received, 1, MPI_INT, g_rank ^ 1, kTag, comm, &persistent[0]);
  MPI_Send_init(&sent, 1, MPI_INT, g_rank ^ 1, kTag, comm, &persistent[1]);
  for (int round = 0; round < 2; ++round) {
    MPI_Startall(2, persistent);
    MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE);
    Digest(persistent[0] != MPI_REQUEST_NULL ? received : -1);
  }
  MPI_Request_free(&persistent[0]);
  MPI_Request_free(&persistent[1]);
  MPI_Barrier(comm);
}

// More requests than a call is followed for.
void ManyRequests(MPI_Comm comm) {
  constexpr int kMessages = 600;
  std::vector<int> sent(kMessages, g_rank);
  std::vector<int> received(kMessages);
  std::vector<MPI_Request> requests;
  for (int i = 0; i < kMessages; ++i) {
    MPI_Irecv(&received[i], 1, MPI_INT, g_rank ^ 1, kTag, comm, &requests.emplace_back());
  }
  for (int i = 0; i < kMessages; ++i) {
    MPI_Isend(&sent[i], 1, MPI_INT, g_rank ^ 1, kTag, comm, &requests.emplace_back());
  }
  MPI_Waitall(2 * kMessages, requests.data(), MPI_STATUSES_IGNORE);
  Digest(received);
}

void Communicators() {
  MPI_Comm half;
  MPI_Comm twin;
  MPI_Comm node;
  MPI_Comm made;
  MPI_Comm none;
  MPI_Comm grid;
  MPI_Comm between;
  MPI_Comm_split(MPI_COMM_WORLD, g_rank / 2, 0, &half);
  MPI_Comm_set_name(half, "half");
  MPI_Comm_dup(half, &twin);
  MPI_Comm_set_name(twin, "twin");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &none);
  Digest(none == MPI_COMM_NULL ? 1 : 0);
  MPI_Group world_group;
  MPI_Group reversed_group;
  const int reversed[kRanks] = {3, 2, 1, 0};
  MPI_Comm_group(MPI_COMM_WORLD, &world_group);
  MPI_Group_incl(world_group, kRanks, reversed, &reversed_group);
  MPI_Comm_create(MPI_COMM_WORLD, reversed_group, &made);
  MPI_Comm_set_name(made, "reversed");
  const int sizes[1] = {kRanks};
  const int periods[1] = {1};
  MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periods, 0, &grid);
  int sum = g_rank;
  for (MPI_Comm comm : {half, twin, twin, node, made, made, made, grid, MPI_COMM_SELF}) {
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
    Digest(sum);
  }
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, g_rank < 2 ? 2 : 0, kTag, &between);
  MPI_Barrier(between);
  for (MPI_Comm* comm : {&between, &grid, &made, &node, &twin, &half}) MPI_Comm_free(comm);
  MPI_Group_free(&reversed_group);
  MPI_Group_free(&world_group);
  // A handle that is used again names another communicator.
  MPI_Comm again;
  MPI_Comm_dup(MPI_COMM_WORLD, &again);
  MPI_Comm_set_name(again, "again");
  MPI_Barrier(again);
  MPI_Comm_free(&again);
}

// A reduction operator of the program that itself calls MPI.
void CallMpiInside(void* in, void* in_out, int* count, MPI_Datatype*) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_SELF, &size);
  MPI_Barrier(MPI_COMM_SELF);
  for (int i = 0; i < *count; ++i) static_cast<int*>(in_out)[i] += static_cast<int*>(in)[i] * size;
}

void ReentrantReduction(MPI_Comm comm) {
  MPI_Op op;
  MPI_Op_create(CallMpiInside, 1, &op);
  int sum = g_rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, op, comm);
  MPI_Op_free(&op);
  Digest(sum);
}

// Errors come back to the program as they are.
void Errors(MPI_Comm comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int value = 0;
  Digest(MPI_Bcast(&value, 1, MPI_INT, kRanks + 3, comm) != MPI_SUCCESS ? 1 : 0);
  Digest(MPI_Send(&value, -1, MPI_INT, 0, kTag, comm) != MPI_SUCCESS ? 1 : 0);
  MPI_Request request = MPI_REQUEST_NULL;
  Digest(MPI_Wait(&request, MPI_STATUS_IGNORE));
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

// The others have long been waiting in the barrier when rank 1 dies in front of it.
void DieBeforeBarrier() {
  constexpr unsigned kSecondsForTheOthers = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (g_rank == 1) {
    sleep(kSecondsForTheOthers);
    raise(SIGKILL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  int initialized = -1;
  MPI_Initialized(&initialized);
  Digest(initialized);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  if (argc > 1 && strcmp(argv[1], "die") == 0) DieBeforeBarrier();
  BlockingCollectives(MPI_COMM_WORLD);
  NonBlockingCollectives(MPI_COMM_WORLD);
  BlockingMessages(MPI_COMM_WORLD);
  EveryWayToComplete(MPI_COMM_WORLD);
  FreedAndPersistentRequests(MPI_COMM_WORLD);
  ManyRequests(MPI_COMM_WORLD);
  Communicators();
  ReentrantReduction(MPI_COMM_WORLD);
  Errors(MPI_COMM_WORLD);
  std::vector<unsigned long long> all(kRanks);
  MPI_Gather(&g_checksum, 1, MPI_UNSIGNED_LONG_LONG, all.data(), 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  MPI_Finalized(&initialized);
  if (g_rank == 0) {
    for (unsigned long long checksum : all) printf("%016llx\n", checksum);
  }
  return 0;
}
