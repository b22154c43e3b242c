// Works off a stack in batches of blocks, so that scratch memory is bounded and a batch's data stay
// in cache.
#pragma once

#include <functional>

#include "ops/core/context.h"

namespace dashlm {

// Calls body(context, begin, count) for consecutive batches that together cover the blocks
// [0, blocks), each a matrix of order n. `body` may be called from several threads at a time, each
// with a context and scratch memory of its own, and must write only to what belongs to its blocks.
//
// On a CPU with enough blocks, a thread takes a batch from beginning to end. No operation then
// waits for other threads, and all intermediate results stay in the thread's cache. On a GPU a
// batch is as large as a bound on scratch memory allows, to keep launches few.
void for_each_batch(
    Context& context, int64_t blocks, int64_t n,
    const std::function<void(Context& context, int64_t begin, int64_t count)>& body);

// The best number of blocks at a time for an element-wise pass, or a pass of a few products, over
// blocks of `elements` elements. On a CPU it is enough to share out, and few enough that the result
// of one operation is still in cache for the next. On a GPU it is larger, to keep launches few.
// Scratch memory of a few matrices a block remains small beside the parameters of a large model.
int64_t blocks_at_a_time(const Context& context, int64_t elements);

}  // namespace dashlm
