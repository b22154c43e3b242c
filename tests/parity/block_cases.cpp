// Operations on stacks of blocks of the flat parameters.
#include <fmt/format.h>

#include "ops/blocks/adamw.h"
#include "ops/blocks/averages.h"
#include "ops/blocks/block_copies.h"
#include "ops/blocks/block_products.h"
#include "ops/blocks/block_update.h"
#include "parity/table.h"

namespace dashlm::parity {
namespace {

// N blocks (r, c) side by side in a matrix with `gap` elements more a row: blocks at odd places.
struct Size {
  int64_t blocks, rows, cols, gap;

  int64_t row_stride() const { return blocks * cols + gap; }
  int64_t flat() const { return rows * row_stride() + 1; }
  Shape stack() const { return {blocks, rows, cols}; }
  std::string text() const { return fmt::format("{}x{}x{}", blocks, rows, cols); }
};

std::vector<Size> sizes_of(Sizes sizes) {
  if (sizes == Sizes::large) return {{4, 1024, 1024, 0}, {2, 2048, 1024, 0}, {8, 1024, 1, 0}};
  return {{1, 1, 1, 0}, {2, 5, 7, 3}, {3, 8, 1, 2}, {2, 16, 33, 0}};
}

Tensor table_of(Run& run, const std::vector<BlockPlace>& places) {
  const std::vector<int64_t> host = block_table(places);
  return run.given("table", DType::i64, {std::ssize(places), kBlockTableColumns},
                   Doubles(host.begin(), host.end()));
}

Tensor table_of(Run& run, const Size& s) {
  std::vector<BlockPlace> places;
  for (int64_t i = 0; i < s.blocks; ++i) {
    places.push_back({1 + i * s.cols, s.row_stride(), s.rows, s.cols});
  }
  return table_of(run, places);
}

Tensor rates_of(Run& run, const Size& s) {
  return run.normal("lr_scale", DType::f32, {s.blocks}, 0.1, 1);
}

// Variances and other squares.
Tensor squares(Run& run, const std::string& name, const Shape& shape) {
  return run.normal(name, DType::f32, shape, 0.1, 1);
}

// An update is a small number added to a weight.
Bound weight_bound() {
  return {8 * kRoundoff, 2 * kRoundoff};
}

void adamw_case(Run& run, const Size& s) {
  const Tensor table = table_of(run, s), rates = rates_of(run, s);
  const Tensor weights = run.updated(run.normal("weights", DType::f32, {s.flat()}), weight_bound());
  const Tensor gradients = run.normal("gradients", DType::f32, {s.flat()});
  const Tensor m = run.updated(run.normal("m", DType::f32, s.stack()), element_bound(DType::f32));
  const Tensor v = run.updated(squares(run, "v", s.stack()), element_bound(DType::f32));
  const AdamwStep step{.lr = 0.01f,
                       .beta1 = 0.9f,
                       .beta2 = 0.95f,
                       .eps = 1e-8f,
                       .weight_decay = 0.1f,
                       .gradient_scale = 0.7f,
                       .step = 3};
  run.compute([&](Context& c) { adamw(c, {weights, gradients, table, rates, m, v}, step); });
}

// A (rows, cols) matrix cut into blocks of `block`, smaller ones at its edges, in reverse order.
std::vector<BlockPlace> cut(int64_t rows, int64_t cols, int64_t block) {
  std::vector<BlockPlace> places;
  for (int64_t i = 0; i < rows; i += block) {
    for (int64_t j = 0; j < cols; j += block) {
      places.insert(places.begin(),
                    {i * cols + j, cols, std::min(block, rows - i), std::min(block, cols - j)});
    }
  }
  return places;
}

void add_moves(Cases& cases, Sizes sizes) {
  const int64_t rows = sizes == Sizes::large ? 5632 : 9, cols = sizes == Sizes::large ? 2048 : 11;
  for (const int64_t block : sizes == Sizes::large ? std::vector<int64_t>{1024, 2048}
                                                   : std::vector<int64_t>{1, 4, 8, 16}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const auto body = [=](Run& run, bool gather) {
        const Tensor table = table_of(run, cut(rows, cols, block));
        const Tensor from = run.normal("from", dtype, {rows * cols});
        const Tensor to = run.output("to", dtype, {rows * cols}, kExact);
        run.compute([&](Context& c) {
          gather ? gather_blocks(c, to, from, table) : scatter_blocks(c, to, from, table);
        });
      };
      const std::string suffix = fmt::format(" {}x{} in {}s {}", rows, cols, block, name_of(dtype));
      cases.push_back(
          {"gather_blocks", "gather_blocks" + suffix, [=](Run& run) { body(run, true); }});
      cases.push_back(
          {"scatter_blocks", "scatter_blocks" + suffix, [=](Run& run) { body(run, false); }});
    }
  }
}

void factors_case(Run& run, const Size& s, FactorSide side) {
  const bool left = side == FactorSide::left;
  const int64_t n = left ? s.rows : s.cols, terms = left ? s.cols : s.rows;
  const Tensor blocks = run.normal("blocks", DType::f32, s.stack());
  const Tensor factors =
      run.updated(run.definite("factors", s.blocks, n), sum_bound(DType::f32, terms));
  run.compute([&](Context& c) { update_factors(c, factors, blocks, side, 0.95f, 0.05f); });
}

void averages_case(Run& run, const Size& s) {
  const Tensor x = run.normal("x", DType::f32, s.stack());
  // Terms of opposite sign may leave little.
  const Bound bound{8 * kRoundoff, 4 * kRoundoff};
  const Tensor average = run.updated(run.normal("average", DType::f32, s.stack()), bound);
  const Tensor square = run.updated(squares(run, "square average", s.stack()), bound);
  run.compute([&](Context& c) {
    update_average(c, average, x, 0.9f, 0.1f);
    update_square_average(c, square, x, 0.95f, 0.05f);
  });
}

void pack_case(Run& run, const Size& s) {
  const Tensor table = table_of(run, s);
  const Tensor flat = run.normal("flat", DType::f32, {s.flat()});
  const Tensor stack = run.output("stack", DType::f32, s.stack(), kExact);
  run.compute([&](Context& c) { pack_blocks(c, stack, flat, table, 0.3f); });
}

void update_case(Run& run, const Size& s, const BlockUpdate& update) {
  const Tensor table = table_of(run, s), rates = rates_of(run, s);
  const Tensor flat = run.updated(run.normal("flat", DType::f32, {s.flat()}), weight_bound());
  const Tensor direction = run.normal("direction", DType::f32, s.stack());
  const Tensor mean = run.normal("mean", DType::f32, s.stack());
  const Tensor variance = squares(run, "variance", s.stack());
  const int64_t elements = s.rows * s.cols;
  const Tensor velocity = run.updated(run.normal("velocity", DType::f32, s.stack()),
                                      update.momentum > 0 ? sum_bound(DType::f32, 4) : kExact);
  // Two norms: sums of terms of one sign.
  Bound bound = sum_bound(DType::f32, elements);
  bound.element += bound.norm;
  bound.norm = 0;
  const Tensor ratios = run.output("ratios", DType::f32, {s.blocks}, bound);
  run.compute([&](Context& c) {
    apply_block_update(c,
                       {.flat = flat,
                        .table = table,
                        .direction = direction,
                        .mean = mean,
                        .lr_scale = rates,
                        .ratios = ratios,
                        .variance = variance,
                        .velocity = velocity},
                       update);
  });
}

void add_updates(Cases& cases, const Size& s, Sizes sizes) {
  for (const auto& [grafting, name] : EnumNames<Grafting>::names) {
    for (const bool preconditioned : {true, false}) {
      for (const int momentum : {0, 1, 2, 3}) {
        // The rules have been through all small blocks.
        const bool common = grafting == Grafting::adam && preconditioned && momentum != 1;
        if (sizes == Sizes::large && !common) continue;
        BlockUpdate update{.preconditioned = preconditioned,
                           .lr = 0.01f,
                           .weight_decay = 0.1f,
                           .grafting = grafting,
                           .graft_eps = 1e-8f,
                           .mean_correction = 1.9f,
                           .variance_correction = 1.2f};
        update.momentum = momentum > 0 ? 0.9f : 0.0f;
        update.nesterov = momentum >= 2;
        update.decay_in_momentum = momentum == 3;
        const char* words[] = {"", ", momentum", ", nesterov", ", nesterov and decay in one"};
        cases.push_back({"apply_block_update",
                         fmt::format("apply_block_update {} {}{}{}", s.text(), name,
                                     preconditioned ? ", preconditioned" : "", words[momentum]),
                         [=](Run& run) { update_case(run, s, update); }});
      }
    }
  }
}

}  // namespace

void add_block_cases(Cases& cases, Sizes sizes) {
  add_moves(cases, sizes);
  for (const Size& s : sizes_of(sizes)) {
    const auto add = adder(cases, s.text());
    add("adamw", "", [=](Run& run) { adamw_case(run, s); });
    add("pack_blocks", "", [=](Run& run) { pack_case(run, s); });
    add("averages", "", [=](Run& run) { averages_case(run, s); });
    add("update_factors", " left", [=](Run& run) { factors_case(run, s, FactorSide::left); });
    if (s.cols > 1) {
      add("update_factors", " right", [=](Run& run) { factors_case(run, s, FactorSide::right); });
    }
    add_updates(cases, s, sizes);
  }
}

}  // namespace dashlm::parity
