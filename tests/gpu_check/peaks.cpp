// What the card itself can do: products of large matrices, and copies.
#include <vector>

#include "base/random.h"
#include "gpu_check/report.h"
#include "ops/core/convert.h"
#include "ops/core/matmul.h"
#include "ops/stacks/stack_linalg.h"

namespace dashlm::gpu_check {
namespace {

constexpr int kRepeats = 5;

// Varied numbers: of constant ones a GPU makes more a second than of any that matter. A prime
// number of them over and over, so that rows differ.
void fill(Device& device, const Tensor& tensor) {
  constexpr int64_t kPeriod = 1000003;
  const CounterRandom random(1, Purpose::benchmark);
  std::vector<float> host(kPeriod);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(random.uniform(i) - 0.5);
  for (int64_t begin = 0; begin < tensor.elements(); begin += kPeriod) {
    const int64_t count = std::min(kPeriod, tensor.elements() - begin);
    device.upload(tensor.f32() + begin, host.data(), count * size_of(DType::f32));
  }
}

void check_gemm(Device& device, int64_t n, DType dtype, Report& report) {
  Arena memory(device, "matrices"), scratch(device, "scratch");
  Context context{device, scratch};
  Tensor source, a, b, c;
  const auto take = [&] {
    source = memory.take("source", {n, n});
    a = memory.take("A", {n, n}, dtype);
    b = memory.take("B", {n, n}, dtype);
    c = memory.take("C", {n, n}, dtype);
  };
  const auto product = [&] { matmul(context, c, a, b, {.transpose_b = true}); };
  take();
  product();
  memory.commit();
  scratch.commit();
  take();
  fill(device, source);
  convert(context, a, source);
  convert(context, b, source);
  const double ms = median_milliseconds(device, kRepeats, product);
  const bool half = dtype == DType::bf16;
  report.info(fmt::format("product {}, n = {}", half ? "bf16" : "fp32", n),
              2e-9 * static_cast<double>(n) * static_cast<double>(n * n) / ms, "TFLOP/s",
              data_sheet(device, half ? MatmulPrecision::bf16 : MatmulPrecision::fp32));
}

// What the inverse roots are made of: half a product, of operands that are already rounded, whose
// result is mirrored and rounded for the next one. FLOPs count the whole product.
void check_solver_product(Device& device, int64_t blocks, int64_t n, MatmulPrecision precision,
                          Report& report) {
  Arena scratch(device, "matrices");
  Context context{device, scratch};
  SymmetricStack a, b, c;
  const auto take = [&] {
    for (SymmetricStack* x : {&a, &b}) {
      *x = SymmetricStack::take(context, "operand", {blocks, n, n}, precision);
    }
    c = SymmetricStack::take_operand(context, "product", {blocks, n, n}, precision);
  };
  const auto product = [&] { symmetric_matmul(context, c, a, b, {.precision = precision}); };
  take();
  product();
  const double flops = context.flops;
  scratch.commit();
  take();
  for (const SymmetricStack& x : {a, b}) {
    fill(device, x.values);
    round_values(context, x);
  }
  const double ms = median_milliseconds(device, kRepeats, product);
  report.info(fmt::format("solver products {}, {} of n = {}", enum_name(precision), blocks, n),
              1e-9 * flops / ms, "TFLOP/s", data_sheet(device, precision));
}

void check_copy(Device& device, int64_t bytes, Report& report) {
  Arena memory(device, "buffers");
  const auto take = [&] { return memory.take("buffers", {2, bytes}, DType::u8); };
  take();
  memory.commit();
  const Tensor buffers = take();
  const Tensor to = buffers.rows(0, 1), from = buffers.rows(1, 1);
  const double ms =
      median_milliseconds(device, kRepeats, [&] { device.copy(to.data, from.data, bytes); });
  const GpuModel* model = device.model();
  report.info("memory, copying", 2e-9 * static_cast<double>(bytes) / ms, "TB/s",
              model ? fmt::format("{:.3g}", model->bandwidth / 1e12) : "-");
}

}  // namespace

void check_peaks(Device& device, const Options& options, Report& report) {
  const int64_t n = options.small ? 64 : 8192;
  check_gemm(device, n, DType::f32, report);
  check_gemm(device, n, DType::bf16, report);
  for (const auto& [precision, name] : EnumNames<MatmulPrecision>::names) {
    for (const int64_t order : {n / 8, n / 4}) {
      check_solver_product(device, options.small ? 2 : 16, order, precision, report);
    }
  }
  check_copy(device, options.small ? 1 << 16 : int64_t{1} << 32, report);
}

}  // namespace dashlm::gpu_check
