// For the files x.cpp of src/ops: the choice of a backend, and checks of arguments.
#pragma once

#include "ops/core/context.h"
#include "tensor/tensor.h"

// The implementation of an operation for the device of a context (or for a device itself):
// cpu::operation or cuda::operation, which have one signature and are declared in the room's
// backends.h. A backend that lacks the operation does not link.
//
//   DASHLM_BACKEND(context, swiglu)(context, out, gate_up);
//
// An operation that takes no scratch memory on any device is not called at all when planning:
//
//   context.compute(DASHLM_BACKEND(context, embedding), context, out, table, tokens);
#ifdef DASHLM_HAS_CUDA
#define DASHLM_BACKEND(context, operation) (on_gpu(context) ? &cuda::operation : &cpu::operation)
#else
#define DASHLM_BACKEND(context, operation) (static_cast<void>(context), &cpu::operation)
#endif

namespace dashlm {

template <class Data>
void expect(const char* operation, const BasicTensor<Data>& tensor, const Shape& shape,
            DType dtype = DType::f32) {
  if (tensor.shape != shape || tensor.dtype != dtype) {
    fail_runtime("{}: {} must be {} {}", operation, tensor.text(), name_of(dtype), shape.text());
  }
}

// The types that models compute in.
template <class Data>
void expect_f32_or_bf16(const char* operation, const BasicTensor<Data>& tensor,
                        const Shape& shape) {
  if (tensor.shape != shape || (tensor.dtype != DType::f32 && tensor.dtype != DType::bf16)) {
    fail_runtime("{}: {} must be f32 or bf16 {}", operation, tensor.text(), shape.text());
  }
}

// A result that holds values of type `computed`: of that type, or wider.
template <class Data>
void expect_at_least(const char* operation, const BasicTensor<Data>& tensor, const Shape& shape,
                     DType computed) {
  expect_f32_or_bf16(operation, tensor, shape);
  if (computed == DType::f32) expect(operation, tensor, shape);
}

}  // namespace dashlm
