// Parallel loops over stacks of matrices: large blocks are shared by threads, small ones are
// grouped. Neither changes the arithmetic of a block.
#pragma once

#include "device/cpu/parallel.h"
#include "tensor/tensor.h"

namespace dashlm::cpu {

// Calls body(s, item) for all s in [0, blocks) and item in [0, items), items of a block in order of
// their number as far as threads are free. Blocks of few elements go together to one thread.
template <class Body>
void for_each_item(int64_t blocks, int64_t items, int64_t block_elements, const Body& body) {
  constexpr int64_t kEnough = 4096;  // elements that are worth being given out by themselves
  const int64_t group = items > 1 ? 1 : std::max<int64_t>(1, kEnough / block_elements);
  parallel_ranges(blocks * items, group, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i / items, i % items);
  });
}

// Calls body(s, begin, end) for ranges of elements, counted from the start of the stack
// (S, n, n), that lie within block s and together cover all.
template <class Body>
void for_each_chunk(const ConstTensor& stack, const Body& body) {
  constexpr int64_t kChunk = 1 << 15;  // 128 KiB, a part of the L2 cache
  const int64_t size = stack.dim(1) * stack.dim(2);
  const int64_t chunks = (size + kChunk - 1) / kChunk;
  for_each_item(stack.dim(0), chunks, size, [&](int64_t s, int64_t chunk) {
    body(s, s * size + chunk * kChunk, s * size + std::min(size, (chunk + 1) * kChunk));
  });
}

// Calls body(s) for every block.
template <class Body>
void for_each_block(const ConstTensor& stack, const Body& body) {
  for_each_item(stack.dim(0), 1, stack.dim(1) * stack.dim(2), [&](int64_t s, int64_t) { body(s); });
}

}  // namespace dashlm::cpu
