#include "ops/model/rope.h"

#include <cmath>
#include <vector>

#include "ops/core/dispatch.h"
#include "ops/model/backends.h"

namespace dashlm {
namespace {

// The table of fill_rope_table(), with `half` pairs in a head.
std::vector<float> cosines_and_sines(int64_t positions, int64_t half, double theta) {
  std::vector<float> table;
  for (int64_t t = 0; t < positions; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const double frequency = std::pow(theta, -static_cast<double>(i) / static_cast<double>(half));
      const double angle = static_cast<double>(t) * frequency;
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

}  // namespace

void fill_rope_table(Context& context, const Tensor& table, double theta) {
  expect("fill_rope_table", table, {table.dim(0), table.dim(1), 2});
  context.compute([&] {
    const std::vector<float> host = cosines_and_sines(table.dim(0), table.dim(1), theta);
    context.device.upload(table.data, host.data(), table.bytes());
  });
}

void rope(Context& context, const Tensor& x, const ConstTensor& table, int64_t heads,
          RopeDirection direction, int64_t first_position) {
  expect_f32_or_bf16("rope", x, {x.dim(0), x.dim(1), x.dim(2), x.dim(3)});
  expect("rope", table, {table.dim(0), x.dim(3) / 2, 2});
  if (x.dim(3) % 2 != 0) fail_runtime("rope: heads of {} have no pairs", x.text());
  if (heads > x.dim(2) || first_position + x.dim(1) > table.dim(0)) {
    fail_runtime("rope: {} heads and positions {} to {} do not fit {} and {}", heads,
                 first_position, first_position + x.dim(1), x.text(), table.text());
  }
  DASHLM_BACKEND(context, rope)(context, x, table, heads, direction, first_position);
}

}  // namespace dashlm
