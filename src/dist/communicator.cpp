#include "dist/communicator.h"

#include <cstring>
#include <numeric>

namespace dashlm {
namespace {

void expect_elements(const char* operation, const Tensor& tensor, int64_t elements,
                     DType dtype = DType::f32) {
  if (tensor.dtype != dtype || tensor.elements() < elements) {
    fail_runtime("{}: {} must be {} with {} elements", operation, tensor.text(), name_of(dtype),
                 elements);
  }
}

}  // namespace

Communicator::Counts Communicator::check_reduce_scatter(const Tensor& packed, const Tensor& sum,
                                                        std::span<const int64_t> counts,
                                                        const Tensor& scratch) const {
  const Counts elements{counts[static_cast<size_t>(rank())],
                        std::accumulate(counts.begin(), counts.end(), int64_t{0})};
  expect_elements("reduce_scatter", packed, elements.total);
  expect_elements("reduce_scatter", sum, elements.own);
  expect_elements("reduce_scatter", scratch, elements.own * size());
  return elements;
}

Communicator::Counts Communicator::check_all_gather(const Tensor& segment, const Tensor& packed,
                                                    std::span<const int64_t> counts) const {
  const Counts elements{counts[static_cast<size_t>(rank())],
                        std::accumulate(counts.begin(), counts.end(), int64_t{0})};
  const DType dtype = segment.dtype == DType::bf16 ? DType::bf16 : DType::f32;
  expect_elements("all_gather", segment, elements.own, dtype);
  expect_elements("all_gather", packed, elements.total, dtype);
  return elements;
}

std::vector<double> Communicator::sum(std::span<const double> values) {
  const std::string mine(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  std::vector<double> total(values.size(), 0.0);
  for (const std::string& bytes : exchange(mine)) {
    if (bytes.size() != mine.size()) {
      fail_runtime("ranks disagree on how many values to add up: {} and {} bytes", mine.size(),
                   bytes.size());
    }
    for (size_t i = 0; i < total.size(); ++i) {
      double value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      total[i] += value;
    }
  }
  return total;
}

Work LoneCommunicator::reduce_scatter(const Tensor&, const Tensor&, std::span<const int64_t>,
                                      const Tensor&) {
  fail_runtime("reduce_scatter: one process has nobody to share with");
}

Work LoneCommunicator::all_gather(const Tensor&, const Tensor&, std::span<const int64_t>) {
  fail_runtime("all_gather: one process has nobody to share with");
}

std::vector<std::string> LoneCommunicator::exchange(const std::string& bytes) {
  return {bytes};
}

}  // namespace dashlm
