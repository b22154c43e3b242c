#include "ops/model/rope.h"

#include <cmath>
#include <vector>

#include "ops/core/cpu/run.h"
#include "ops/core/dispatch.h"

namespace dashlm {

void fill_rope_table(Context& context, const Tensor& table, double theta) {
  expect("fill_rope_table", table, {table.dim(0), table.dim(1), 2});
  if (context.planning()) return;
  const int64_t positions = table.dim(0), half = table.dim(1);
  std::vector<float> host(static_cast<size_t>(table.elements()));
  for (int64_t t = 0; t < positions; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double frequency = std::pow(theta, -static_cast<double>(i) / static_cast<double>(half));
      const double angle = static_cast<double>(t) * frequency;
      host[static_cast<size_t>(2 * (t * half + i))] = static_cast<float>(std::cos(angle));
      host[static_cast<size_t>(2 * (t * half + i) + 1)] = static_cast<float>(std::sin(angle));
    }
  }
  context.device.upload(table.data, host.data(), table.bytes());
}

void rope(Context& context, const Tensor& x, const Tensor& table, int64_t heads,
          RopeDirection direction, int64_t first_position) {
  expect_f32_or_bf16("rope", x, {x.dim(0), x.dim(1), x.dim(2), x.dim(3)});
  expect("rope", table, {table.dim(0), x.dim(3) / 2, 2});
  if (x.dim(3) % 2 != 0) fail_runtime("rope: heads of {} have no pairs", x.text());
  if (heads > x.dim(2) || first_position + x.dim(1) > table.dim(0)) {
    fail_runtime("rope: {} heads and positions {} to {} do not fit {} and {}", heads,
                 first_position, first_position + x.dim(1), x.text(), table.text());
  }
  DASHLM_CUDA(context, rope, x, table, heads, direction, first_position);
  cpu::run(context, cpu::rope, cpu::updates(x), table, heads, direction, first_position);
}

}  // namespace dashlm
