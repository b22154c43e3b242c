#include "tensor/tensor.h"

namespace dashlm {

Shape::Shape(std::initializer_list<int64_t> dims) {
  for (const int64_t dim : dims) append(dim);
}

void Shape::append(int64_t dim) {
  if (rank_ == kMaxRank) fail_runtime("a shape has at most {} dimensions", kMaxRank);
  dims_[static_cast<size_t>(rank_++)] = dim;
}

int64_t Shape::elements() const {
  int64_t product = 1;
  for (int i = 0; i < rank_; ++i) product *= (*this)[i];
  return product;
}

std::string Shape::text() const {
  return fmt::format("({})", fmt::join(dims_.begin(), dims_.begin() + rank_, ", "));
}

template <class Data>
BasicTensor<Data> BasicTensor<Data>::view(Shape new_shape) const {
  if (new_shape.elements() != elements()) {
    fail_runtime("tensor {} cannot be seen as {}", text(), new_shape.text());
  }
  BasicTensor other = *this;
  other.shape = new_shape;
  return other;
}

template <class Data>
BasicTensor<Data> BasicTensor<Data>::rows(int64_t begin, int64_t count) const {
  if (rank() == 0 || begin < 0 || count < 0 || begin + count > dim(0)) {
    fail_runtime("tensor {} has no rows {} to {}", text(), begin, begin + count);
  }
  BasicTensor other = *this;
  other.shape = Shape{count};
  for (int i = 1; i < rank(); ++i) other.shape.append(dim(i));
  const int64_t row_bytes = dim(0) == 0 ? 0 : bytes() / dim(0);
  // A measuring arena hands out tensors without memory; their rows have none either.
  if (data) other.data = static_cast<Pointer<char>>(data) + begin * row_bytes;
  return other;
}

template <class Data>
std::string BasicTensor<Data>::text() const {
  return fmt::format("{} {} {}", name.text(), name_of(dtype), shape.text());
}

template struct BasicTensor<void>;
template struct BasicTensor<const void>;

}  // namespace dashlm
