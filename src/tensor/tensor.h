// A named, non-owning view of a contiguous row-major array on some device.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/tensor_name.h"

namespace dashlm {

// Up to four dimensions, outermost first.
class Shape {
 public:
  static constexpr int kMaxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  int64_t elements() const;
  void append(int64_t dim);
  bool operator==(const Shape&) const = default;
  std::string text() const;  // "(2, 3, 4)"

 private:
  std::array<int64_t, kMaxRank> dims_ = {};
  int rank_ = 0;
};

// `Data` is void, or const void for a tensor that is only read.
template <class Data>
struct BasicTensor {
  template <class T>
  using Pointer = std::conditional_t<std::is_const_v<Data>, const T*, T*>;

  Data* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  TensorName name;

  BasicTensor() = default;
  BasicTensor(Data* memory, DType type, const Shape& dimensions, TensorName text)
      : data(memory), dtype(type), shape(dimensions), name(std::move(text)) {}

  // Whether there is a tensor. An absent one, BasicTensor{}, has no dimensions; one without memory,
  // from an arena that measures, has.
  explicit operator bool() const { return rank() > 0; }

  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * size_of(dtype); }
  int64_t dim(int i) const { return shape[i]; }
  int rank() const { return shape.rank(); }

  // The elements; T must be the tensor's type. Null if the tensor is absent.
  template <class T>
  Pointer<T> as() const {
    if (dtype_of<T>() != dtype && rank() > 0) {
      fail_runtime("tensor {} holds {}, not {}", name.text(), name_of(dtype),
                   name_of(dtype_of<T>()));
    }
    return static_cast<Pointer<T>>(data);
  }
  Pointer<float> f32() const { return as<float>(); }
  Pointer<int32_t> i32() const { return as<int32_t>(); }

  // The same elements under another shape.
  BasicTensor view(Shape new_shape) const;
  // `count` consecutive entries of the outermost dimension from `begin`.
  BasicTensor rows(int64_t begin, int64_t count) const;
  std::string text() const;  // "qkv f32 (8, 256, 768)"

  // A tensor that may be written may be read.
  template <class Other>
  requires(std::is_same_v<Other, const void> && !std::is_const_v<Data>)
  operator BasicTensor<Other>() const {
    return {data, dtype, shape, name};
  }
};

using Tensor = BasicTensor<void>;
using ConstTensor = BasicTensor<const void>;

extern template struct BasicTensor<void>;
extern template struct BasicTensor<const void>;

}  // namespace dashlm
