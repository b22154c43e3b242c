// Host memory from which a device copies by itself (Device::start_upload).
#pragma once

#include "device/device.h"

namespace dashlm {

class HostBuffer {
 public:
  HostBuffer(Device& device, int64_t bytes)
      : device_(device), data_(static_cast<char*>(device.allocate_host(bytes))) {}
  ~HostBuffer() { device_.release_host(data_); }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  char* data() const { return data_; }

 private:
  Device& device_;
  char* data_;
};

}  // namespace dashlm
