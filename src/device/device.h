// Where bytes live and how they move. No mathematics: that is src/ops.
//
// A Device is one processor with its memory: the CPU of this process, or (with the CUDA backend)
// one GPU. Work on a device is asynchronous in principle; synchronize() waits for all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dashlm {

enum class DeviceKind { cpu, cuda };

class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceKind kind() const = 0;
  // For people: processor, threads.
  virtual std::string description() const = 0;

  // `bytes` of zeroed memory aligned to 64 bytes; throws a runtime_failure Error when there is
  // none.
  virtual void* allocate(int64_t bytes) = 0;
  virtual void release(void* memory) = 0;

  virtual void upload(void* to_device, const void* from_host, int64_t bytes) = 0;
  virtual void download(void* to_host, const void* from_device, int64_t bytes) = 0;
  // Regions on this device; they must not overlap.
  virtual void copy(void* to, const void* from, int64_t bytes) = 0;
  virtual void clear(void* memory, int64_t bytes) = 0;
  virtual void synchronize() = 0;
};

// Which of the processes on its machine this one is, and how many there are.
struct LocalPlace {
  int rank = 0;
  int size = 1;
};

// "auto" (the best device there is), "cpu" or "cuda". `threads` is the number of CPU threads, 0 for
// OMP_NUM_THREADS where it is set, or else one per processor this process may use; where it may use
// those of its neighbours too, they share out all processors. GPUs are taken in turn. Throws when
// the named device is absent.
std::unique_ptr<Device> open_device(const std::string& name, int threads = 0,
                                    const LocalPlace& place = {});

// Of `dashlm devices`.
struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int64_t memory = 0;        // bytes
};

// The GPUs that answer; none without a driver, or in a build without CUDA.
std::vector<DeviceInfo> list_gpus();

}  // namespace dashlm
