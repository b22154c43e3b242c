#include "parity/run.h"

#include <algorithm>
#include <limits>

#include "base/random.h"
#include "tensor/bf16.h"

namespace dashlm::parity {
namespace {

constexpr double kUnset = -77;         // of integer outputs
constexpr int64_t kParallel = 100000;  // elements that are worth several threads

template <class T>
std::vector<char> bytes_of(const Doubles& values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  T* const out = reinterpret_cast<T*>(bytes.data());
#pragma omp parallel for if (std::ssize(values) > kParallel)
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, Bf16>) {
      out[i] = Bf16(static_cast<float>(values[i]));
    } else {
      out[i] = static_cast<T>(values[i]);
    }
  }
  return bytes;
}

template <class T>
Doubles doubles_of(const std::vector<char>& bytes) {
  Doubles values(bytes.size() / sizeof(T));
  const T* const in = reinterpret_cast<const T*>(bytes.data());
#pragma omp parallel for if (std::ssize(values) > kParallel)
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, Bf16>) {
      values[i] = static_cast<float>(in[i]);
    } else {
      values[i] = static_cast<double>(in[i]);
    }
  }
  return values;
}

// Calls body.operator()<T>() for the C++ type of `dtype`.
template <class Body>
auto with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::bf16:
      return body.template operator()<Bf16>();
    case DType::f64:
      return body.template operator()<double>();
    case DType::i32:
      return body.template operator()<int32_t>();
    case DType::i64:
      return body.template operator()<int64_t>();
    case DType::f32:
      return body.template operator()<float>();
    default:
      fail_runtime("parity: no case has tensors of {}", name_of(dtype));
  }
}

Doubles read(Device& device, const Tensor& tensor) {
  std::vector<char> bytes(static_cast<size_t>(tensor.bytes()));
  device.download(bytes.data(), tensor.data, tensor.bytes());
  return with_type(tensor.dtype, [&]<class T>() { return doubles_of<T>(bytes); });
}

// Of each group of an output, infinities and NaN aside.
Doubles root_mean_squares(const Output& output) {
  const auto count = static_cast<int64_t>(output.values.size());
  const int64_t group = output.bound.group > 0 ? output.bound.group : std::max<int64_t>(1, count);
  Doubles sizes(static_cast<size_t>((count + group - 1) / group));
  for (int64_t i = 0; i < std::ssize(sizes); ++i) {
    const int64_t begin = i * group, end = std::min(count, begin + group);
    double squares = 0;
#pragma omp parallel for reduction(+ : squares) if (end - begin > kParallel)
    for (int64_t j = begin; j < end; ++j) {
      const double x = output.values[static_cast<size_t>(j)];
      squares += std::isfinite(x) ? x * x : 0;
    }
    sizes[static_cast<size_t>(i)] = std::sqrt(squares / static_cast<double>(end - begin));
  }
  return sizes;
}

// Calls body(i, size) for every element with the size of its group.
template <class Body>
void for_elements(const Output& output, const Body& body) {
  const Doubles sizes = root_mean_squares(output);
  const size_t all = std::max<size_t>(1, output.values.size());
  const size_t group = output.bound.group > 0 ? static_cast<size_t>(output.bound.group) : all;
  for (size_t i = 0; i < output.values.size(); ++i) body(i, sizes[i / group]);
}

}  // namespace

Run::~Run() {
  for (void* memory : memory_) device_.release(memory);
}

DType Run::stored(DType dtype) {
  if (dtype != DType::bf16) return dtype;
  uses_bf16_ = true;
  return widen_ ? DType::f32 : dtype;
}

Tensor Run::take(const std::string& name, DType dtype, const Shape& shape) {
  Tensor tensor{nullptr, dtype, shape, name};
  tensor.data = device_.allocate(std::max<int64_t>(1, tensor.bytes()));
  memory_.push_back(tensor.data);
  return tensor;
}

void Run::fill(const Tensor& tensor, const Doubles& values) {
  const std::vector<char> bytes =
      with_type(tensor.dtype, [&]<class T>() { return bytes_of<T>(values); });
  device_.upload(tensor.data, bytes.data(), tensor.bytes());
}

Tensor Run::given(const std::string& name, DType dtype, Shape shape, const Doubles& values) {
  if (static_cast<int64_t>(values.size()) != shape.elements()) {
    fail_runtime("parity: {} values for {} {}", values.size(), name, shape.text());
  }
  Doubles rounded = values;
  if (dtype == DType::bf16) {
#pragma omp parallel for if (std::ssize(rounded) > kParallel)
    for (double& x : rounded) x = static_cast<float>(Bf16(static_cast<float>(x)));
  }
  const Tensor tensor = take(name, stored(dtype), shape);
  fill(tensor, rounded);
  return tensor;
}

Tensor Run::normal(const std::string& name, DType dtype, Shape shape, double deviation,
                   double mean) {
  const CounterRandom random(1, Purpose::test, ++draws_);
  Doubles values(static_cast<size_t>(shape.elements()));
#pragma omp parallel for if (std::ssize(values) > kParallel)
  for (size_t i = 0; i < values.size(); ++i) values[i] = mean + deviation * random.normal(i);
  return given(name, dtype, shape, values);
}

Tensor Run::integers(const std::string& name, Shape shape, int64_t low, int64_t high) {
  const CounterRandom random(1, Purpose::test, ++draws_);
  Doubles values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t draw = random.below(static_cast<uint64_t>(high - low), i);
    values[i] = static_cast<double>(low + static_cast<int64_t>(draw));
  }
  return given(name, DType::i32, shape, values);
}

// A positive diagonal and a few random directions, which costs n² a block.
Tensor Run::definite(const std::string& name, int64_t blocks, int64_t n) {
  constexpr int64_t kDirections = 4;
  const CounterRandom random(1, Purpose::test, ++draws_);
  Doubles values(static_cast<size_t>(blocks * n * n));
  const double scale = std::sqrt(0.5 / static_cast<double>(n));
  uint64_t drawn = 0;
  for (int64_t s = 0; s < blocks; ++s) {
    double* const block = values.data() + s * n * n;
    for (int64_t i = 0; i < n; ++i) block[i * n + i] = 0.5 + random.uniform(drawn++);
    for (int64_t direction = 0; direction < kDirections; ++direction) {
      Doubles v(static_cast<size_t>(n));
      for (double& x : v) x = scale * random.normal(drawn++);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          block[i * n + j] += v[static_cast<size_t>(i)] * v[static_cast<size_t>(j)];
        }
      }
    }
  }
  return given(name, DType::f32, {blocks, n, n}, values);
}

Tensor Run::output(const std::string& name, DType dtype, Shape shape, Bound bound) {
  const bool integer = dtype == DType::i32 || dtype == DType::i64;
  const double unset = integer ? kUnset : std::numeric_limits<double>::quiet_NaN();
  const Tensor tensor =
      given(name, dtype, shape, Doubles(static_cast<size_t>(shape.elements()), unset));
  return updated(tensor, bound);
}

Tensor Run::rounded_output(const std::string& name, Shape shape, Bound bound) {
  uses_bf16_ = true;
  return updated(take(name, DType::bf16, shape), bound);
}

Tensor Run::updated(const Tensor& input, Bound bound) {
  compared_.push_back({input, bound});
  return input;
}

void Run::compute(const std::function<void(Context&)>& operation) {
  Arena scratch(device_, "parity scratch");
  Context planning{device_, scratch};
  operation(planning);
  scratch.commit();
  Context context{device_, scratch};
  operation(context);
  device_.synchronize();
}

Doubles Run::values(const Tensor& tensor) const {
  return read(device_, tensor);
}

std::vector<Output> Run::outputs() const {
  std::vector<Output> outputs;
  for (const auto& [tensor, bound] : compared_) {
    outputs.push_back({tensor.name, bound, read(device_, tensor)});
  }
  return outputs;
}

Comparison compare(const Output& got, const Output& want) {
  if (got.values.size() != want.values.size()) {
    fail_runtime("parity: {} has {} elements here and {} there", got.name, got.values.size(),
                 want.values.size());
  }
  Comparison result{got.name};
  for_elements(want, [&](size_t i, double size) {
    const double x = got.values[i], y = want.values[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) return;
    const double bound = want.bound.element * std::abs(y) + want.bound.norm * size;
    double ratio = std::abs(x - y) / bound;
    if (std::isnan(ratio)) ratio = std::numeric_limits<double>::infinity();
    if (ratio > result.worst) result = {got.name, ratio, x, y, static_cast<int64_t>(i)};
  });
  return result;
}

Comparison compare_rounding(const Output& got, const Output& want) {
  Comparison result{got.name + ", rounding"};
  if (want.bound.element < kRoundoffBf16) return result;
  double different = 0;
  for_elements(want, [&](size_t i, double size) {
    const double x = got.values[i], y = want.values[i];
    const double noise = want.bound.norm * size + 16 * kRoundoff * std::abs(y);
    if (std::abs(x - y) <= noise || std::isnan(x)) return;
    result = {result.output, 0, x, y, static_cast<int64_t>(i)};
    ++different;
  });
  result.worst = different / (2 + 0.05 * static_cast<double>(want.values.size()));
  return result;
}

}  // namespace dashlm::parity
