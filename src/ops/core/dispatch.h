// Chooses the backend of an operation; included by the src/ops/x.cpp files only.
#pragma once

#include "ops/core/context.h"
#include "tensor/tensor.h"
#ifdef DASHLM_HAS_CUDA
#include "ops/core/cuda/operations.h"
#endif

// Where `context` is on a GPU: runs cuda::function(context, arguments...), planning or not, and
// returns its result. A CUDA function takes its scratch memory itself.
#ifdef DASHLM_HAS_CUDA
#define DASHLM_CUDA(context, function, ...)            \
  do {                                                 \
    if ((context).device.kind() == DeviceKind::cuda) { \
      return cuda::function((context), __VA_ARGS__);   \
    }                                                  \
  } while (false)
#else
#define DASHLM_CUDA(context, function, ...) static_cast<void>(0)
#endif

// On the CPU, unless planning: runs cpu::function(arguments...), whose scratch memory the caller
// took.
#define DASHLM_CPU(context, function, ...)                 \
  do {                                                     \
    if (!(context).planning()) cpu::function(__VA_ARGS__); \
  } while (false)

// One or the other. A backend that lacks a function does not link.
#define DASHLM_DISPATCH(context, function, ...)  \
  do {                                           \
    DASHLM_CUDA(context, function, __VA_ARGS__); \
    DASHLM_CPU(context, function, __VA_ARGS__);  \
  } while (false)

namespace dashlm {

inline void expect(const char* operation, const Tensor& tensor, const Shape& shape,
                   DType dtype = DType::f32) {
  if (tensor.shape != shape || tensor.dtype != dtype) {
    fail_runtime("{}: {} must be {} {}", operation, tensor.text(), name_of(dtype), shape.text());
  }
}

// The types that models compute in.
inline void expect_f32_or_bf16(const char* operation, const Tensor& tensor, const Shape& shape) {
  if (tensor.shape != shape || (tensor.dtype != DType::f32 && tensor.dtype != DType::bf16)) {
    fail_runtime("{}: {} must be f32 or bf16 {}", operation, tensor.text(), shape.text());
  }
}

// A result that holds values of type `computed`: of that type, or wider.
inline void expect_at_least(const char* operation, const Tensor& tensor, const Shape& shape,
                            DType computed) {
  expect_f32_or_bf16(operation, tensor, shape);
  if (computed == DType::f32) expect(operation, tensor, shape);
}

}  // namespace dashlm
