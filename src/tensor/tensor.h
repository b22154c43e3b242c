// A named, non-owning view of a contiguous row-major array on some device.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/error.h"
#include "tensor/dtype.h"

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

struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;
  std::string name;  // for messages

  int64_t elements() const { return shape.elements(); }
  int64_t bytes() const { return elements() * size_of(dtype); }
  int64_t dim(int i) const { return shape[i]; }
  int rank() const { return shape.rank(); }

  // The elements; T must be the tensor's type.
  template <class T>
  T* as() const {
    if (dtype_of<T>() != dtype) {
      fail_runtime("tensor {} holds {}, not {}", name, name_of(dtype), name_of(dtype_of<T>()));
    }
    return static_cast<T*>(data);
  }
  float* f32() const { return as<float>(); }
  int32_t* i32() const { return as<int32_t>(); }

  // The same elements under another shape.
  Tensor view(Shape new_shape) const;
  // `count` consecutive entries of the outermost dimension from `begin`.
  Tensor rows(int64_t begin, int64_t count) const;
  std::string text() const;  // "qkv f32 (8, 256, 768)"
};

}  // namespace dashlm
