// The CPU backend's Device: plain memory, work done at once by the calling thread and OpenMP.
#pragma once

#include "device/device.h"

namespace dashlm::cpu {

class CpuDevice final : public Device {
 public:
  // `threads` as in open_device(). `processes` is the number of processes of the run on this
  // machine.
  CpuDevice(int threads, int processes);

  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string description() const override;
  void* allocate(int64_t bytes) override;
  void release(void* memory) override;
  void upload(void* to_device, const void* from_host, int64_t bytes) override;
  void download(void* to_host, const void* from_device, int64_t bytes) override;
  void copy(void* to, const void* from, int64_t bytes) override;
  void clear(void* memory, int64_t bytes) override;
  void synchronize() override {}
  void* allocate_host(int64_t bytes) override { return allocate(bytes); }
  void release_host(void* memory) override { release(memory); }
  void start_upload(void* to_device, const void* from_host, int64_t bytes) override {
    copy(to_device, from_host, bytes);
  }
  TimeMark mark() override;
};

}  // namespace dashlm::cpu
