#include "host_cuda/run.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "host_cuda/report.h"
#include "host_cuda/sanitizer.h"
#include "host_cuda/threads.h"

namespace dashlm::host_cuda {

Position position;

namespace {

namespace context = boost::context::detail;

constexpr unsigned kMostThreads = 1024, kMostWarps = kMostThreads / kWarpSize;
constexpr size_t kMostShared = size_t{48} << 10, kPage = 4096;
constexpr size_t kStack = kStackFactor * (size_t{64} << 10);
constexpr size_t kBeyondShared = 256;  // watched for writes past the end
constexpr unsigned char kPoison = 0xff;

// Where execution is suspended. A fiber runs one thread of the block after another; only threads
// that wait keep theirs, so that a kernel without barriers takes one fiber for all.
struct Fiber {
  context::fcontext_t suspended = nullptr;
  Stack stack;
};

struct Thread {
  Fiber* fiber = nullptr;  // null before the thread has started
  uint3 index{};
};

struct Warp {
  uint64_t given[2][kWarpSize];  // one is written while the other may still be read
  int lanes, arrived, ended, line, writing;
};

struct Block {
  std::vector<Thread> threads;
  std::vector<int> ready;  // threads that may run
  Warp warps[kMostWarps];
  int arrived, ended, line;
  Votes votes, decided;
};

const std::function<void()>* body;
Block block;
int running;  // index of the running thread
bool in_kernel = false;
Fiber outside;
std::vector<Fiber*> idle;
alignas(128) unsigned char shared_memory[kMostShared + kBeyondShared];

// The seed of everything that is random, and a generator (xorshift).
uint64_t seed, random_state;

uint64_t below(uint64_t bound) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (random_state >> 11) % bound;
}

void print_seed() {
  std::fprintf(stderr, "host_cuda: run again with DASHLM_HOST_CUDA_SEED=%llu for the same order\n",
               static_cast<unsigned long long>(seed));
}

void choose_seed() {
  const char* given = std::getenv("DASHLM_HOST_CUDA_SEED");
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                          : static_cast<uint64_t>(now.tv_sec) * 1000 +
                                static_cast<uint64_t>(now.tv_nsec) / 1000000;
  random_state = seed * 0x9e3779b97f4a7c15u + 1;
  if (random_state == 0) random_state = 1;
  // A test that fails for another reason tells the seed, too.
  on_exit(
      [](int status, void*) {
        if (status != 0) print_seed();
      },
      nullptr);
}

void run_fiber(context::transfer_t from);

// A new fiber on a stack of its own, with a page below it that cannot be written. The tops of
// stacks lie at different places within a page: otherwise they would compete for the same sets of
// the cache.
Fiber* new_fiber() {
  static size_t made = 0;
  void* memory = mmap(nullptr, kStack + kPage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, kPage, PROT_NONE) != 0) {
    fail("no memory for the stack of a fiber");
  }
  const size_t used = kStack - made++ % 32 * 128;
  static auto& fibers = *new std::deque<Fiber>;  // as long as the process
  Fiber* fiber = &fibers.emplace_back();
  char* bottom = static_cast<char*>(memory) + kPage;
  fiber->stack = {bottom, used};
  fiber->suspended = context::make_fcontext(bottom + used, used, &run_fiber);
  return fiber;
}

Fiber* take_fiber() {
  if (idle.empty()) return new_fiber();
  Fiber* fiber = idle.back();
  idle.pop_back();
  return fiber;
}

// Suspends `self`, which is running, and resumes `other`.
void switch_fibers(Fiber* self, Fiber* other) {
  void* kept = left(other->stack);
  const context::transfer_t from = context::jump_fcontext(other->suspended, self);
  auto* before = static_cast<Fiber*>(from.data);
  entered(kept, before->stack);
  before->suspended = from.fctx;
}

int take_ready() {
  const size_t i = below(block.ready.size());
  std::swap(block.ready[i], block.ready.back());
  const int thread = block.ready.back();
  block.ready.pop_back();
  return thread;
}

void make_current(int thread) {
  running = thread;
  position.thread = block.threads[static_cast<size_t>(thread)].index;
}

Warp& warp_of(int thread) {
  return block.warps[thread / kWarpSize];
}

void fail_waiting() {
  fail(
      "barrier not reached by all threads: of %zu threads of the block %d have ended and %d wait "
      "at __syncthreads, the rest at operations of their warps",
      block.threads.size(), block.ended, block.arrived);
}

// What a fiber does: threads, started or resumed, until the block has ended.
void run_fiber(context::transfer_t from) {
  auto* before = static_cast<Fiber*>(from.data);
  entered(nullptr, before->stack);
  before->suspended = from.fctx;
  Fiber* self = block.threads[static_cast<size_t>(running)].fiber;
  for (;;) {
    (*body)();
    ++block.ended;
    Warp& warp = warp_of(running);
    ++warp.ended;
    if (block.arrived > 0) fail("barrier not reached by all threads: one has ended before it");
    if (warp.arrived > 0) fail("warp operation not reached by all lanes: one has ended before it");
    if (block.ended == static_cast<int>(block.threads.size())) {
      idle.push_back(self);
      switch_fibers(self, &outside);
    } else if (block.ready.empty()) {
      fail_waiting();
    } else {
      make_current(take_ready());
      Thread& next = block.threads[static_cast<size_t>(running)];
      if (next.fiber == nullptr) {
        next.fiber = self;
        continue;
      }
      idle.push_back(self);
      switch_fibers(self, next.fiber);
    }
    // Resumed, for a thread that has not started.
    self = block.threads[static_cast<size_t>(running)].fiber;
  }
}

// Lets others run; returns when the running thread has been made ready and is chosen.
void wait() {
  if (block.ready.empty()) fail_waiting();
  Fiber* self = block.threads[static_cast<size_t>(running)].fiber;
  make_current(take_ready());
  Thread& next = block.threads[static_cast<size_t>(running)];
  if (next.fiber == self) return;
  if (next.fiber == nullptr) next.fiber = take_fiber();
  switch_fibers(self, next.fiber);
}

void check_launch(const dim3& grid, const dim3& size, size_t shared_bytes) {
  const uint64_t threads = uint64_t{size.x} * size.y * size.z;
  if (threads == 0 || threads > kMostThreads || size.z > 64) {
    fail("a block of %u x %u x %u threads", size.x, size.y, size.z);
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 ||
      grid.z > 65535) {
    fail("a grid of %u x %u x %u blocks", grid.x, grid.y, grid.z);
  }
  if (shared_bytes > kMostShared) fail("%zu bytes of dynamic shared memory", shared_bytes);
}

void prepare_block(size_t shared_bytes) {
  const int count = static_cast<int>(block.threads.size());
  block.ready.clear();
  for (int i = 0; i < count; ++i) {
    block.threads[static_cast<size_t>(i)].fiber = nullptr;
    block.ready.push_back(i);
  }
  block.arrived = block.ended = 0;
  block.votes = {0, 1, 0};
  for (int first = 0; first < count; first += kWarpSize) {
    Warp& warp = warp_of(first);
    warp.lanes = count - first < kWarpSize ? count - first : kWarpSize;
    warp.arrived = warp.ended = warp.writing = 0;
    std::memset(warp.given, kPoison, sizeof warp.given);
  }
  allow(shared_memory, sizeof shared_memory);
  std::memset(shared_memory, kPoison, shared_bytes + kBeyondShared);
  forbid(shared_memory + shared_bytes, sizeof shared_memory - shared_bytes);
}

void run_block(size_t shared_bytes) {
  prepare_block(shared_bytes);
  make_current(take_ready());
  Fiber* first = take_fiber();
  block.threads[static_cast<size_t>(running)].fiber = first;
  switch_fibers(&outside, first);
  allow(shared_memory, sizeof shared_memory);
  for (size_t i = 0; i < kBeyondShared; ++i) {
    if (shared_memory[shared_bytes + i] != kPoison) {
      fail("write %zu bytes past the end of %zu bytes of dynamic shared memory", i, shared_bytes);
    }
  }
}

}  // namespace

void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fputs("host_cuda: ", stderr);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  if (in_kernel) {
    const Position& p = position;
    std::fprintf(stderr, "\nhost_cuda: in thread (%u, %u, %u) of %u x %u x %u, ", p.thread.x,
                 p.thread.y, p.thread.z, p.block_size.x, p.block_size.y, p.block_size.z);
    std::fprintf(stderr, "block (%u, %u, %u) of %u x %u x %u\n", p.block.x, p.block.y, p.block.z,
                 p.grid_size.x, p.grid_size.y, p.grid_size.z);
    print_seed();
  } else {
    std::fputs("\n", stderr);
  }
  std::abort();
}

Votes synchronize_block(int predicate, int line) {
  if (block.ended > 0) fail("barrier not reached by all threads: line %d", line);
  if (block.arrived > 0 && block.line != line) {
    fail("threads of a block wait at different barriers: lines %d and %d", block.line, line);
  }
  block.line = line;
  block.votes.any |= predicate != 0;
  block.votes.all &= predicate != 0;
  block.votes.count += predicate != 0;
  if (++block.arrived == static_cast<int>(block.threads.size())) {
    block.decided = std::exchange(block.votes, {0, 1, 0});
    block.arrived = 0;
    for (int i = 0; i < static_cast<int>(block.threads.size()); ++i) block.ready.push_back(i);
  }
  wait();
  return block.decided;
}

const uint64_t* exchange_in_warp(unsigned mask, uint64_t bits, int line) {
  if (mask != 0xffffffffu) fail("line %d: a warp operation with the mask %#x", line, mask);
  Warp& warp = warp_of(running);
  if (warp.ended > 0) fail("warp operation not reached by all lanes: line %d", line);
  if (warp.arrived > 0 && warp.line != line) {
    fail("lanes of a warp wait at different operations: lines %d and %d", warp.line, line);
  }
  warp.line = line;
  warp.given[warp.writing][running % kWarpSize] = bits;
  if (++warp.arrived == warp.lanes) {
    warp.arrived = 0;
    warp.writing ^= 1;
    const int first = running / kWarpSize * kWarpSize;
    for (int lane = 0; lane < warp.lanes; ++lane) block.ready.push_back(first + lane);
  }
  wait();
  return warp.given[warp.writing ^ 1];
}

int lane_of_warp() {
  return running % kWarpSize;
}

int lanes_of_warp() {
  return warp_of(running).lanes;
}

void run(dim3 grid, dim3 size, size_t shared_bytes, const std::function<void()>& thread) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  static std::once_flag seeded;
  std::call_once(seeded, choose_seed);
  check_launch(grid, size, shared_bytes);
  body = &thread;
  position.grid_size = grid;
  position.block_size = size;
  block.threads.clear();
  for (unsigned z = 0; z < size.z; ++z) {
    for (unsigned y = 0; y < size.y; ++y) {
      for (unsigned x = 0; x < size.x; ++x) block.threads.push_back({nullptr, {x, y, z}});
    }
  }
  // Blocks in order from a random one, forwards or backwards.
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z, start = below(blocks);
  const bool backwards = below(2) != 0;
  in_kernel = true;
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t at = (start + (backwards ? blocks - i : i)) % blocks;
    position.block = {static_cast<unsigned>(at % grid.x),
                      static_cast<unsigned>(at / grid.x % grid.y),
                      static_cast<unsigned>(at / grid.x / grid.y)};
    run_block(shared_bytes);
  }
  in_kernel = false;
}

void* dynamic_shared() {
  return shared_memory;
}

}  // namespace dashlm::host_cuda
