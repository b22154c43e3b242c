// Memory for tensors, taken from a device in one allocation.
//
// An Arena starts out measuring: it hands out tensors without memory and counts bytes. Run the same
// code once in this mode, call commit(), and run it again. Now the tensors have memory, and it is
// an error to ask for more than was measured. So a run takes the memory that `dashlm plan` prints.
//
// Tensors are freed as a stack: mark() remembers a height, release(height) returns to it.
#pragma once

#include <cstdint>
#include <string>

#include "device/device.h"
#include "tensor/tensor.h"

namespace dashlm {

class Arena {
 public:
  // `name` is for messages. The device must outlive the arena.
  Arena(Device& device, std::string name) : device_(device), name_(std::move(name)) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Hands out a tensor. Its memory is not initialised, but memory that was never used before is
  // zero.
  Tensor take(const TensorName& name, Shape shape, DType dtype = DType::f32);

  bool measuring() const { return base_ == nullptr; }
  // The most bytes that were in use at a time so far.
  int64_t peak_bytes() const { return peak_; }

  int64_t mark() const { return used_; }
  void release(int64_t mark) { used_ = mark; }

  // Takes peak_bytes() from the device; the arena is empty afterwards.
  void commit();

 private:
  Device& device_;
  std::string name_;
  char* base_ = nullptr;
  int64_t used_ = 0;
  int64_t peak_ = 0;
};

// Releases at the end of its scope all tensors that were taken within it.
class ArenaScope {
 public:
  explicit ArenaScope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
  ~ArenaScope() { arena_.release(mark_); }
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena& arena_;
  int64_t mark_;
};

}  // namespace dashlm
