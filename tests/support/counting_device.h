// A device that counts what would make the host wait on a GPU.
#pragma once

#include <memory>
#include <stdexcept>

#include "device/device.h"

namespace dashlm::testing {

// The CPU, with a record of what would wait on a GPU and of marks set.
class CountingDevice final : public Device {
 public:
  DeviceKind kind() const override { return device_->kind(); }
  std::string description() const override { return device_->description(); }
  void* allocate(int64_t bytes) override { return device_->allocate(bytes); }
  void release(void* memory) override { device_->release(memory); }
  void upload(void* to, const void* from, int64_t bytes) override {
    ++uploads;
    device_->upload(to, from, bytes);
  }
  void download(void* to, const void* from, int64_t bytes) override {
    ++downloads;
    device_->download(to, from, bytes);
  }
  void copy(void* to, const void* from, int64_t bytes) override { device_->copy(to, from, bytes); }
  void clear(void* memory, int64_t bytes) override { device_->clear(memory, bytes); }
  void synchronize() override { ++synchronizations; }
  void* allocate_host(int64_t bytes) override { return device_->allocate_host(bytes); }
  void release_host(void* memory) override { device_->release_host(memory); }
  void start_upload(void* to, const void* from, int64_t bytes) override {
    device_->start_upload(to, from, bytes);
  }
  TimeMark mark() override {
    downloads_at_last_mark = downloads;
    if (fails) throw std::runtime_error("the device has failed");
    return device_->mark();
  }

  void forget() { uploads = downloads = synchronizations = 0; }

  bool fails = false;  // from now on, at marks
  int uploads = 0, downloads = 0, synchronizations = 0, downloads_at_last_mark = 0;

 private:
  std::unique_ptr<Device> device_ = open_device("cpu", 2);
};

}  // namespace dashlm::testing
