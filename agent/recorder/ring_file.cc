#include "agent/recorder/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/recorder/ring_access.h"

namespace lockstep::ring {
namespace {

constexpr char kRecorderVersion[] = "0.2.0";
constexpr int kMaxRecordersPerProcess = 16;
constexpr mode_t kDirectoryMode = 01777;  // every user's jobs write here, nobody removes another user's ring

int64_t NowNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

template <size_t kSize>
void CopyText(char (&to)[kSize], const char* from) {
  size_t length = from == nullptr ? 0 : strnlen(from, kSize - 1);
  memcpy(to, from, length);
  memset(to + length, 0, kSize - length);
}

// Field 22 of /proc/self/stat; 0 = unreadable. The command name (field 2) may contain spaces and parentheses.
uint64_t ProcessStartTicks() {
  char text[1024];
  int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  const char* at = strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = strchr(at + 1, ' ');
  return at == nullptr ? 0 : strtoull(at + 1, nullptr, 10);
}

const char* RingDirectory(const RingOptions& options) {
  if (options.directory != nullptr) return options.directory;
  const char* from_environment = getenv(kDirectoryVariable);
  return from_environment != nullptr && from_environment[0] != '\0' ? from_environment : kDefaultDirectory;
}

// Opens the directory, making it when absent. -1 on failure.
int OpenDirectory(const char* path) {
  // Only the one who made it may fix the mode that the umask cut.
  if (mkdir(path, kDirectoryMode) == 0) chmod(path, kDirectoryMode);
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool AreCapacitiesValid(const RingOptions& options) {
  const uint32_t operations = options.operation_capacity;
  return operations > 0 && operations <= kMaxOperations && (operations & (operations - 1)) == 0 &&
         options.communicator_capacity > 0 && options.communicator_capacity <= kMaxCommunicators &&
         options.transfer_capacity <= kMaxTransfers;
}

// A file beyond RLIMIT_FSIZE would raise SIGXFSZ in the job.
bool IsWithinFileSizeLimit(uint64_t bytes) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

void FillHeader(const RingOptions& options, uint64_t bytes, uint64_t start_ticks, RingHeader* header) {
  header->layout_version = kLayoutVersion;
  header->header_bytes = sizeof(RingHeader);
  header->communicator_bytes = sizeof(CommunicatorEntry);
  header->communicator_capacity = options.communicator_capacity;
  header->operation_bytes = sizeof(OperationSlot);
  header->operation_capacity = options.operation_capacity;
  header->transfer_capacity = options.transfer_capacity;
  header->total_bytes = bytes;
  header->recorder_kind = static_cast<uint32_t>(options.kind);
  header->library_version = options.library_version;
  header->abi_version = options.abi_version;
  header->pid = getpid();
  header->process_start_ticks = start_ticks;
  header->opened_at_ns = NowNs(CLOCK_MONOTONIC);
  header->opened_at_wall_ns = NowNs(CLOCK_REALTIME);
  header->rank = options.rank;
  header->world_size = options.world_size;
  header->local_rank = options.local_rank;
  header->gpu_index = options.gpu_index;
  CopyText(header->gpu_uuid, options.gpu_uuid);
  CopyText(header->gpu_pci_address, options.gpu_pci_address);
  CopyText(header->job, options.job);
  CopyText(header->recorder_version, kRecorderVersion);
  if (gethostname(header->host, sizeof(header->host) - 1) != 0) header->host[0] = '\0';
  header->magic = kMagic;
}

// Reserves and maps `bytes` of the file; nullptr on failure. Every page is written, so that no call of the job meets a
// page fault: MAP_POPULATE alone may leave a shared page to the first write.
RingHeader* ReserveAndMap(int fd, uint64_t bytes) {
  if (posix_fallocate(fd, 0, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (mapped == MAP_FAILED) return nullptr;
  TouchPages(mapped, bytes);
  return static_cast<RingHeader*>(mapped);
}

// Gives the complete file its first free name. Linking, unlike renaming, fails when a second recorder of this process
// already owns the name.
bool Publish(int directory, const char* temporary_name, uint64_t start_ticks) {
  for (int number = 0; number < kMaxRecordersPerProcess; ++number) {
    char name[96];
    snprintf(name, sizeof(name), "%d-%llu-%d%s", getpid(), static_cast<unsigned long long>(start_ticks), number,
             kFileSuffix);
    if (linkat(directory, temporary_name, directory, name, 0) == 0) return true;
    if (errno != EEXIST) return false;
  }
  return false;
}

RingHeader* CreateIn(int directory, const RingOptions& options) {
  const uint64_t bytes =
      FileBytes(options.communicator_capacity, options.operation_capacity, options.transfer_capacity);
  if (!AreCapacitiesValid(options) || !IsWithinFileSizeLimit(bytes)) return nullptr;
  const uint64_t start_ticks = ProcessStartTicks();
  char temporary_name[96];
  snprintf(temporary_name, sizeof(temporary_name), ".%d-%llu-%p.new", getpid(),
           static_cast<unsigned long long>(start_ticks), static_cast<const void*>(&options));
  unlinkat(directory, temporary_name, 0);  // of a process with this pid that died half-way
  const int fd = openat(directory, temporary_name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  RingHeader* header = ReserveAndMap(fd, bytes);
  bool published = false;
  if (header != nullptr) {
    FillHeader(options, bytes, start_ticks, header);
    published = Publish(directory, temporary_name, start_ticks);
    if (!published) munmap(header, bytes);
  }
  unlinkat(directory, temporary_name, 0);
  close(fd);
  return published ? header : nullptr;
}

}  // namespace

RingHeader* CreateRingFile(const RingOptions& options) {
  const int saved_errno = errno;
  RingHeader* header = nullptr;
  const int directory = OpenDirectory(RingDirectory(options));
  if (directory >= 0) {
    header = CreateIn(directory, options);
    close(directory);
  }
  errno = saved_errno;
  return header;
}

int64_t MonotonicNs() { return NowNs(CLOCK_MONOTONIC); }

}  // namespace lockstep::ring
