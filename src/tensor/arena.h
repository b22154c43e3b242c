// Memory for tensors, taken from a device in one allocation.
//
// An Arena starts out measuring: it hands out tensors without memory and counts. Run the same code
// once in this mode, call commit(), run it again: now the tensors have memory, and asking for more
// than was measured is an error. So what `dashlm plan` prints is what a run takes.
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

  // Not initialised, except that memory which was never used before is zero.
  Tensor take(const std::string& name, Shape shape, DType dtype = DType::f32);

  bool measuring() const { return base_ == nullptr; }
  // Bytes in use at most, so far.
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

// Releases on scope exit what was taken within the scope.
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
