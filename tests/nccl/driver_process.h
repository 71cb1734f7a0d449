// Runs nccl_driver with a plugin and reads back what it says it did and what the recorder's rings say.
//
// For tests that have :nccl_driver, :libcounting-profiler.so and the recorder as data. Not thread-safe.

#ifndef LOCKSTEP_TESTS_NCCL_DRIVER_PROCESS_H_
#define LOCKSTEP_TESTS_NCCL_DRIVER_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "base/testing/temporary_directory.h"
#include "tests/nccl/truth.h"

namespace lockstep::nccl {

// Of this build.
std::string RecorderPath();
std::string CountingPluginPath();

class DriverProcess {
 public:
  DriverProcess() = default;
  ~DriverProcess();  // kills it
  DriverProcess(const DriverProcess&) = delete;
  DriverProcess& operator=(const DriverProcess&) = delete;

  // A variable of the driver's environment, before Start.
  void Set(const std::string& name, const std::string& value) { environment_[name] = value; }

  // `arguments` are name=value pairs of nccl_driver.
  void Start(const std::string& plugin, int newest_version, const std::vector<std::string>& arguments);

  // Removes what the driver before left, so that the next one can be told apart.
  void Forget();

  // Its exit code; -1 = killed by a signal.
  int Wait();
  void Kill();
  // Waits until a driver that hangs has written what it did. False = it has ended instead.
  bool WaitForTruth();

  Truth ReadTruth() const;                 // version 0 = there is none
  std::vector<std::string> Rings() const;  // paths
  std::string Path(const std::string& name) const { return (directory_.path() / name).string(); }
  std::string ring_directory() const { return Path("rings"); }
  pid_t pid() const { return pid_; }

 private:
  TemporaryDirectory directory_;
  std::map<std::string, std::string> environment_;
  pid_t pid_ = -1;
};

}  // namespace lockstep::nccl

#endif  // LOCKSTEP_TESTS_NCCL_DRIVER_PROCESS_H_
