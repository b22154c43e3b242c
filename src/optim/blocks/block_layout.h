// Cuts parameters into blocks, and joins blocks that go through a call together. This is pure index
// arithmetic without data. The block is the unit of preconditioning, of ownership by ranks, and of
// the checkpoint.
//
// Every matrix is cut into B×B blocks, with smaller ones at its right and bottom edges; a vector
// into (B, 1) blocks (docs/reference.md, "The block step"). Blocks of one shape form a stack (N,
// r, c). Each block has a left factor (r, r) and, if it is more than one column wide, a right
// factor (c, c); factors of one size form a factor stack (S, n, n) in which L and R lie side by
// side, so that one batched call serves both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/schema.h"
#include "ops/blocks/block_table.h"
#include "tensor/parameter_layout.h"

namespace dashlm {

// The number of blocks in one batched call: one block (Distributed Shampoo), the blocks of one
// matrix (DASH per layer), or all blocks of a rank (DASH per GPU). The resulting weights are the
// same.
enum class Stacking { block, layer, rank };

template <>
struct EnumNames<Stacking> {
  static constexpr std::pair<Stacking, const char*> names[] = {
      {Stacking::block, "block"},
      {Stacking::layer, "layer"},
      {Stacking::rank, "rank"},
  };
};

struct Block {
  std::string name = {};  // "layer0.qkv[128:256, 0:128]"
  int64_t id = 0;         // its number among the blocks of all ranks
  size_t parameter = 0;   // index in the layout's parameters
  BlockPlace place = {};  // in the memory that the optimizer works on
  int group = -1;         // of OptimizerConfig::groups; -1: none
  bool vector = false;    // part of a 1-D parameter: preconditioned from the left only
  double lr_scale = 1;    // multiplies the learning rate; 0: frozen
};

// How a parameter is cut.
struct BlockCut {
  int64_t block_size = 1024;      // B
  bool split_row_groups = false;  // cut its row groups (queries, keys, values) apart first
};

// Appends the blocks of a parameter, with places in the flat parameters; the next number after
// those that are there is the first one's. Index, group and lr_scale are those of `like`.
void cut_parameter(std::vector<Block>& blocks, const Parameter& parameter, const Block& like,
                   const BlockCut& cut);

struct StackOptions {
  Stacking stacking = Stacking::rank;
  // Whether matrices and vectors are preconditioned. Other blocks have no factors.
  bool matrix_factors = true;
  bool vector_factors = false;
  // The number of phases. Blocks of one phase lie together within a stack and are refreshed
  // together.
  int64_t phases = 1;
};

// The phase of a block, 0 to phases - 1.
int64_t phase_of(const Block& block, int64_t phases);

// The factors of a stack's blocks: `count` consecutive factors of a factor stack.
struct FactorRange {
  size_t stack = 0;
  int64_t first = 0;
  int64_t count = 0;  // 0: the blocks have no such factor
};

struct BlockStack {
  int64_t rows = 0, cols = 0;
  std::vector<size_t> blocks;  // indices of blocks
  bool vector = false;
  FactorRange left, right;
};

struct Factor {
  size_t block = 0;
  bool right = false;
};

struct FactorStack {
  int64_t size = 0;        // n
  bool one_sided = false;  // factors of vectors: the exponent is another
  std::vector<Factor> factors;
};

class BlockLayout {
 public:
  BlockLayout(std::vector<Block> blocks, const StackOptions& options);

  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<BlockStack>& stacks() const { return stacks_; }
  const std::vector<FactorStack>& factor_stacks() const { return factor_stacks_; }
  // The factors to refresh in `phase` (0 to phases - 1), in as few ranges as there can be.
  std::vector<FactorRange> factors_of_phase(int64_t phase) const;
  // "L of layer0.qkv[128:256, 0:128]"
  std::string name_of(const Factor& factor) const;

 private:
  void add_to_stacks(Stacking stacking);
  FactorRange add_factors(const BlockStack& stack, bool right, int64_t group);

  const int64_t phases_;
  const std::vector<Block> blocks_;
  std::vector<BlockStack> stacks_;
  std::vector<FactorStack> factor_stacks_;
  std::vector<int64_t> factor_groups_;  // of each factor stack; see group_of()
};

}  // namespace dashlm
