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
    // Waits until the device reaches this point. Returns the milliseconds since an earlier mark of
    // the same device.
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
  // A text for people: processor, threads.
  virtual std::string description() const = 0;
  // The data sheet of this GPU; null for a CPU and for unknown cards.
  virtual const GpuModel* model() const { return nullptr; }

  // `bytes` of zeroed memory aligned to 64 bytes; throws a runtime_failure Error when there is
  // none.
  virtual void* allocate(int64_t bytes) = 0;
  virtual void release(void* memory) = 0;

  // These two wait for the copy, and for all work before it.
  virtual void upload(void* to_device, const void* from_host, int64_t bytes) = 0;
  virtual void download(void* to_host, const void* from_device, int64_t bytes) = 0;
  // Copies between regions on this device, which must not overlap.
  virtual void copy(void* to, const void* from, int64_t bytes) = 0;
  virtual void clear(void* memory, int64_t bytes) = 0;
  virtual void synchronize() = 0;

  // Host memory that this device can read by itself. start_upload() copies from there and waits for
  // nothing: the memory must not change before a later synchronize(), download() or upload().
  virtual void* allocate_host(int64_t bytes) = 0;
  virtual void release_host(void* memory) = 0;
  virtual void start_upload(void* to_device, const void* from_host_memory, int64_t bytes) = 0;

  // Marks the end of all work given so far.
  virtual TimeMark mark() = 0;
  // Begin and end a named range for profilers. See DeviceRange.
  virtual void begin_range(const char* /*name*/) {}
  virtual void end_range() {}
};

// A phase of a step, for profilers: the work that the device is given while this object exists.
class DeviceRange {
 public:
  DeviceRange(Device& device, const char* name) : device_(device) { device_.begin_range(name); }
  ~DeviceRange() { device_.end_range(); }
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;

 private:
  Device& device_;
};

// The place of this process among the processes of a run on its machine, and their number.
struct LocalPlace {
  int rank = 0;
  int size = 1;
};

// `name` is "auto" (the best device there is), "cpu" or "cuda". `threads` is the number of CPU
// threads. 0 means OMP_NUM_THREADS where it is set, and otherwise one thread for each processor
// that this process may use; processes that may use the same processors share them out. GPUs are
// taken in turn. Throws when the named device is absent.
std::unique_ptr<Device> open_device(const std::string& name, int threads = 0,
                                    const LocalPlace& place = {});

// A line of `dashlm devices`.
struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int64_t memory = 0;        // bytes
};

// The GPUs that answer; none without a driver, or in a build without CUDA.
std::vector<DeviceInfo> list_gpus();

}  // namespace dashlm
