// Cutting parameters into blocks and stacks is exact for any sizes and options.
#include "optim/blocks/block_layout.h"

#include <algorithm>
#include <map>
#include <set>

#include "model/parameters.h"
#include "ops/blocks/block_copies.h"
#include "ops/blocks/block_update.h"
#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

std::vector<Block> cut(const ParameterLayout& layout, int64_t size, bool split_qkv = false) {
  return cut_into_blocks(layout, {size, split_qkv});
}

// How often each element of the flat parameters lies in a block.
std::vector<int> coverage(const BlockLayout& blocks, int64_t elements) {
  std::vector<int> counts(static_cast<size_t>(elements));
  for (const Block& block : blocks.blocks()) {
    for (int64_t i = 0; i < block.place.rows; ++i) {
      for (int64_t j = 0; j < block.place.cols; ++j) {
        ++counts.at(static_cast<size_t>(block.place.offset + i * block.place.row_stride + j));
      }
    }
  }
  return counts;
}

ModelConfig tiny_model() {
  ModelConfig model{
      .n_layer = 2, .d_model = 12, .n_head = 3, .n_kv_head = 1, .d_ff = 10, .vocab_size = 17};
  model.resolve();
  return model;
}

TEST(BlockLayout, CoversEveryElementOnce) {
  for (const ParameterLayout& layout : {awkward_parameters(), llama_parameters(tiny_model())}) {
    for (const int64_t size : {1, 2, 3, 4, 5, 8, 100}) {
      for (const bool split : {false, true}) {
        for (const Stacking stacking : {Stacking::block, Stacking::layer, Stacking::rank}) {
          const BlockLayout blocks(cut(layout, size, split), {.stacking = stacking});
          EXPECT_EQ(coverage(blocks, layout.elements()),
                    std::vector<int>(static_cast<size_t>(layout.elements()), 1))
              << "B = " << size;
        }
      }
    }
  }
}

TEST(BlockLayout, StacksHoldEachBlockOnceAndInItsShape) {
  const ParameterLayout layout = awkward_parameters();
  for (const Stacking stacking : {Stacking::block, Stacking::layer, Stacking::rank}) {
    for (const int64_t phases : {1, 3}) {
      const BlockLayout blocks(cut(layout, 4),
                               {.stacking = stacking, .vector_factors = true, .phases = phases});
      std::multiset<size_t> seen;
      for (const BlockStack& stack : blocks.stacks()) {
        for (size_t i = 0; i < stack.blocks.size(); ++i) {
          const Block& block = blocks.blocks()[stack.blocks[i]];
          seen.insert(stack.blocks[i]);
          EXPECT_EQ(block.place.rows, stack.rows);
          EXPECT_EQ(block.place.cols, stack.cols);
          EXPECT_EQ(block.vector, stack.vector);
          const auto factor_at = [&](const FactorRange& range) {
            const FactorStack& factors = blocks.factor_stacks()[range.stack];
            return factors.factors[static_cast<size_t>(range.first) + i];
          };
          ASSERT_EQ(stack.left.count, std::ssize(stack.blocks));
          EXPECT_EQ(factor_at(stack.left).block, stack.blocks[i]);
          EXPECT_FALSE(factor_at(stack.left).right);
          EXPECT_EQ(blocks.factor_stacks()[stack.left.stack].size, stack.rows);
          EXPECT_EQ(stack.right.count, stack.vector ? 0 : std::ssize(stack.blocks));
          if (stack.vector) continue;
          EXPECT_EQ(factor_at(stack.right).block, stack.blocks[i]);
          EXPECT_TRUE(factor_at(stack.right).right);
          EXPECT_EQ(blocks.factor_stacks()[stack.right.stack].size, stack.cols);
        }
      }
      EXPECT_EQ(seen.size(), blocks.blocks().size());
      EXPECT_EQ(std::set<size_t>(seen.begin(), seen.end()).size(), blocks.blocks().size());
    }
  }
}

TEST(BlockLayout, OneCallServesAllOfARankOneMatrixOrOneBlock) {
  const ParameterLayout layout = awkward_parameters();
  const auto with = [&](Stacking stacking) {
    return BlockLayout(cut(layout, 4), {.stacking = stacking});
  };
  // Over a rank L and R of one size share a stack: sizes 4, 1 (edges), 3 (of "e"), 2 (of "f").
  std::set<int64_t> sizes;
  const BlockLayout of_rank = with(Stacking::rank), of_layers = with(Stacking::layer);
  for (const FactorStack& stack : of_rank.factor_stacks()) {
    EXPECT_TRUE(sizes.insert(stack.size).second) << stack.size;
  }
  EXPECT_EQ(sizes, (std::set<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(with(Stacking::block).stacks().size(), of_rank.blocks().size());
  for (const BlockStack& stack : of_layers.stacks()) {
    std::set<size_t> parameters;
    for (const size_t block : stack.blocks) parameters.insert(of_layers.blocks()[block].parameter);
    EXPECT_EQ(parameters.size(), 1u);
  }
}

TEST(BlockLayout, SplitsQueriesKeysAndValues) {
  const ModelConfig model = tiny_model();  // 12 rows of queries, 4 of keys, 4 of values
  const ParameterLayout layout = llama_parameters(model);
  std::map<std::string, int64_t> rows;
  for (const Block& block : cut(layout, 8, true)) {
    if (block.name.starts_with("layer0.qkv")) rows[block.name] = block.place.rows;
  }
  EXPECT_EQ(rows, (std::map<std::string, int64_t>{{"layer0.qkv.q[0:8, 0:8]", 8},
                                                  {"layer0.qkv.q[0:8, 8:12]", 8},
                                                  {"layer0.qkv.q[8:12, 0:8]", 4},
                                                  {"layer0.qkv.q[8:12, 8:12]", 4},
                                                  {"layer0.qkv.k[0:4, 0:8]", 4},
                                                  {"layer0.qkv.k[0:4, 8:12]", 4},
                                                  {"layer0.qkv.v[0:4, 0:8]", 4},
                                                  {"layer0.qkv.v[0:4, 8:12]", 4}}));
}

TEST(BlockLayout, BlocksKnowTheirNumberAndTheRateOfTheirParameter) {
  const ParameterLayout layout = awkward_parameters();
  std::vector<double> lr_scale(layout.parameters().size(), 1.0);
  lr_scale[1] = 0;
  lr_scale[3] = 0.5;
  const std::vector<Block> blocks = cut_into_blocks(layout, {.block_size = 4}, lr_scale);
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].id, static_cast<int64_t>(i));
    EXPECT_EQ(blocks[i].lr_scale, lr_scale[blocks[i].parameter]);
  }
}

// Whatever part of the blocks a rank has, blocks of a phase are the same ones, and a rank that has
// every R-th block has at most 1.6 times its share of any phase.
TEST(BlockLayout, PhasesAreEvenForEveryRank) {
  std::vector<Block> blocks(6400);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i].id = static_cast<int64_t>(i);
  for (const int64_t phases : {2, 5, 8, 10, 16}) {
    for (const int64_t ranks : {1, 2, 3, 4, 8, 10, 16, 64}) {
      for (const int64_t rank : {int64_t{0}, ranks / 2, ranks - 1}) {
        std::vector<int64_t> counts(static_cast<size_t>(phases));
        for (int64_t i = rank; i < 6400; i += ranks) {
          ++counts[static_cast<size_t>(phase_of(blocks[static_cast<size_t>(i)], phases))];
        }
        const int64_t most = *std::max_element(counts.begin(), counts.end());
        EXPECT_LE(most, 3 + 16 * 6400 / (ranks * phases * 10))
            << phases << " phases, " << ranks << " ranks";
      }
    }
  }
}

TEST(BlockLayout, PhasesShareOutTheFactors) {
  const ParameterLayout layout = awkward_parameters();
  const BlockLayout blocks(cut(layout, 4), {.vector_factors = true, .phases = 5});
  std::map<std::pair<size_t, int64_t>, int> seen;
  for (int64_t phase = 0; phase < 5; ++phase) {
    for (const FactorRange& range : blocks.factors_of_phase(phase)) {
      for (int64_t i = range.first; i < range.first + range.count; ++i) ++seen[{range.stack, i}];
    }
  }
  size_t factors = 0;
  for (const FactorStack& stack : blocks.factor_stacks()) factors += stack.factors.size();
  EXPECT_EQ(seen.size(), factors);
  for (const auto& [factor, count] : seen) EXPECT_EQ(count, 1);
}

TEST(BlockLayout, PackingIsTheInverseOfUnpacking) {
  const ParameterLayout layout = awkward_parameters();
  const BlockLayout blocks(cut(layout, 4), {});
  Lab lab;
  const Tensor from = lab.normal("from", {layout.elements()});
  const Tensor to = lab.normal("to", {layout.elements()}, 0);
  for (const BlockStack& stack : blocks.stacks()) {
    const int64_t count = std::ssize(stack.blocks);
    std::vector<BlockPlace> places;
    for (const size_t block : stack.blocks) places.push_back(blocks.blocks()[block].place);
    const Tensor table = lab.table("table", {count, kBlockTableColumns}, block_table(places));
    const Tensor packed = lab.output("packed", {count, stack.rows, stack.cols});
    const Tensor ratios = lab.output("ratios", {count}), ones = lab.normal("ones", {count}, 0, 1);
    run(lab, [&](Context& context) {
      pack_blocks(context, packed, from, table, -2.0f);
      // Without decay W - lr·P = 0 + (-1/2)·(-2·from).
      apply_block_update(context,
                         {.flat = to,
                          .table = table,
                          .direction = packed,
                          .mean = packed,
                          .lr_scale = ones,
                          .ratios = ratios},
                         {.lr = 0.5f, .grafting = Grafting::sgd});
    });
  }
  EXPECT_EQ(values(to), values(from));
}

}  // namespace
}  // namespace dashlm::testing
