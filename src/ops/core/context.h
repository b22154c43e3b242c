// The argument of every operation: the device, and memory for intermediate results.
//
// In planning mode the scratch arena is measuring: operations check shapes, take scratch and count
// floating-point operations, but compute nothing. Running a model once in this mode gives its
// memory plan and its FLOPs.
#pragma once

#include <utility>

#include "tensor/arena.h"

namespace dashlm {

struct Context {
  Device& device;
  Arena& scratch;
  // FLOPs of matrix products and attention; a multiply-add counts as two. Recomputation to save
  // memory does not count.
  double flops = 0;

  bool planning() const { return scratch.measuring(); }

  // Calls body(arguments...) unless this is a plan. An operation takes its scratch memory first,
  // and computes in here.
  template <class Body, class... Arguments>
  void compute(const Body& body, Arguments&&... arguments) const {
    if (!planning()) body(std::forward<Arguments>(arguments)...);
  }
  // Fills a tensor with zeros unless this is a plan.
  void clear(const Tensor& tensor) const {
    compute([&] { device.clear(tensor.data, tensor.bytes()); });
  }
};

inline bool on_gpu(const Device& device) {
  return device.kind() == DeviceKind::cuda;
}
inline bool on_gpu(const Context& context) {
  return on_gpu(context.device);
}

}  // namespace dashlm
