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

struct GpuModel;

// A point in a device's order of work. Copies stand for the same point.
class TimeMark {
 public:
  class Stamp {
   public:
    virtual ~Stamp() = default;
    // Until the device got here; then the milliseconds since an earlier mark of the same device.
    virtual double milliseconds_since(const Stamp& earlier) const = 0;
  };

  TimeMark() = default;
  explicit TimeMark(std::shared_ptr<const Stamp> stamp) : stamp_(std::move(stamp)) {}
  double milliseconds_since(const TimeMark& earlier) const {
    return stamp_->milliseconds_since(*earlier.stamp_);
  }

 private:
  std::shared_ptr<const Stamp> stamp_;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceKind kind() const = 0;
  // For people: processor, threads.
  virtual std::string description() const = 0;
  // What is known of this GPU; null for a CPU, and for cards nobody has told us about.
  virtual const GpuModel* model() const { return nullptr; }

  // `bytes` of zeroed memory aligned to 64 bytes; throws a runtime_failure Error when there is
  // none.
  virtual void* allocate(int64_t bytes) = 0;
  virtual void release(void* memory) = 0;

  // These two wait for the copy, and for all work before it.
  virtual void upload(void* to_device, const void* from_host, int64_t bytes) = 0;
  virtual void download(void* to_host, const void* from_device, int64_t bytes) = 0;
  // Regions on this device; they must not overlap.
  virtual void copy(void* to, const void* from, int64_t bytes) = 0;
  virtual void clear(void* memory, int64_t bytes) = 0;
  virtual void synchronize() = 0;

  // Host memory that this device can read by itself, and a copy from there that waits for nothing:
  // the memory must not change before a later synchronize(), download() or upload().
  virtual void* allocate_host(int64_t bytes) = 0;
  virtual void release_host(void* memory) = 0;
  virtual void start_upload(void* to_device, const void* from_host_memory, int64_t bytes) = 0;

  // The end of all work given so far.
  virtual TimeMark mark() = 0;
  // What profilers show as a named range, from one to the other. See DeviceRange.
  virtual void begin_range(const char* /*name*/) {}
  virtual void end_range() {}
};

// A phase of a step, for profilers: what the device is given while this exists.
class DeviceRange {
 public:
  DeviceRange(Device& device, const char* name) : device_(device) { device_.begin_range(name); }
  ~DeviceRange() { device_.end_range(); }
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;

 private:
  Device& device_;
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
