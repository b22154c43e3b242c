#include "tensor/arena.h"

#include <algorithm>

namespace dashlm {
namespace {
constexpr int64_t kAlignment = 64;  // a cache line, and the widest vector load
}

Arena::~Arena() {
  if (base_) device_.release(base_);
}

Tensor Arena::take(const TensorName& name, Shape shape, DType dtype) {
  const int64_t bytes = shape.elements() * size_of(dtype);
  const int64_t begin = used_;
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (measuring()) {
    peak_ = std::max(peak_, used_);
    return {nullptr, dtype, shape, name};
  }
  if (used_ > peak_) {
    used_ = begin;
    fail_runtime("arena {}: {} {} needs {} bytes, but {} of the {} measured are in use", name_,
                 name.text(), shape.text(), bytes, begin, peak_);
  }
  return {base_ + begin, dtype, shape, name};
}

void Arena::commit() {
  if (!measuring()) fail_runtime("arena {} was committed twice", name_);
  base_ = static_cast<char*>(device_.allocate(peak_));
  used_ = 0;
}

}  // namespace dashlm
