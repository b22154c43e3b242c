// Chooses the backend of an operation; included by the src/ops/x.cpp files only.
#pragma once

#include "ops/context.h"
#include "tensor/tensor.h"

// Runs cpu::function(arguments...) on the device of `context`; does nothing when planning.
// A backend that lacks a function does not link.
#define DASHLM_DISPATCH(context, function, ...) \
  do {                                          \
    if (!(context).planning()) {                \
      cpu::function(__VA_ARGS__);               \
    }                                           \
  } while (false)

namespace dashlm {

inline void expect(const char* operation, const Tensor& tensor, const Shape& shape,
                   DType dtype = DType::f32) {
  if (tensor.shape != shape || tensor.dtype != dtype) {
    fail_runtime("{}: {} must be {} {}", operation, tensor.text(), name_of(dtype), shape.text());
  }
}

}  // namespace dashlm
