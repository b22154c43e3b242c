#include "ops/stacks/stack_batches.h"

#include <algorithm>
#include <vector>

#include "ops/stacks/cpu/stack_batches.h"

namespace dashlm {
namespace {

// A device whose memory is a tensor of another: for an arena within an arena.
class PartOfDevice final : public Device {
 public:
  PartOfDevice(Device& device, const Tensor& memory) : device_(device), memory_(memory) {}

  DeviceKind kind() const override { return device_.kind(); }
  std::string description() const override { return device_.description(); }
  void* allocate(int64_t bytes) override {
    if (bytes > memory_.bytes()) fail_runtime("{} lacks room for {} bytes", memory_.text(), bytes);
    return memory_.data;
  }
  void release(void*) override {}
  void upload(void* to, const void* from, int64_t bytes) override {
    device_.upload(to, from, bytes);
  }
  void download(void* to, const void* from, int64_t bytes) override {
    device_.download(to, from, bytes);
  }
  void copy(void* to, const void* from, int64_t bytes) override { device_.copy(to, from, bytes); }
  void clear(void* memory, int64_t bytes) override { device_.clear(memory, bytes); }
  void synchronize() override { device_.synchronize(); }
  void* allocate_host(int64_t bytes) override { return device_.allocate_host(bytes); }
  void release_host(void* memory) override { device_.release_host(memory); }
  void start_upload(void* to, const void* from, int64_t bytes) override {
    device_.start_upload(to, from, bytes);
  }
  TimeMark mark() override { return device_.mark(); }

 private:
  Device& device_;
  Tensor memory_;
};

using Body = std::function<void(Context&, int64_t, int64_t)>;

// Calls `body` with a scratch arena of its own: a measuring one when `memory` has no data. Returns
// the bytes it took at most and adds its FLOPs to `flops`.
int64_t run_batch(Device& device, const Tensor& memory, int64_t peak, int64_t begin, int64_t count,
                  const Body& body, double& flops) {
  PartOfDevice part(device, memory);
  Arena arena(part, "scratch of a batch");
  if (memory.data) {
    arena.take("scratch", {peak}, DType::u8);
    arena.commit();
  }
  Context context{device, arena};
  body(context, begin, count);
  flops += context.flops;
  return arena.peak_bytes();
}

// On a GPU: one batch after the other, in the memory of the caller's own arena.
void for_each_large_batch(Context& context, int64_t blocks, int64_t n, const Body& body) {
  constexpr int64_t kElements = int64_t{1} << 28;  // of one stack of matrices: 1 GiB
  const int64_t batch = std::max<int64_t>(1, kElements / (n * n));
  for (int64_t begin = 0; begin < blocks; begin += batch) {
    const ArenaScope scope(context.scratch);
    body(context, begin, std::min(batch, blocks - begin));
  }
}

}  // namespace

void for_each_batch(Context& context, int64_t blocks, int64_t n, const Body& body) {
  if (on_gpu(context)) {
    return for_each_large_batch(context, blocks, n, body);
  }
  const cpu::BatchPlan plan = cpu::plan_batches(blocks, n);
  const int64_t batches = (blocks + plan.blocks - 1) / plan.blocks;
  const auto count = [&](int64_t batch) {
    return std::min(plan.blocks, blocks - batch * plan.blocks);
  };
  // The first batch is as large as any; when planning, the others are run for their FLOPs.
  int64_t peak = 0;
  double flops = 0;
  cpu::run_as_worker(plan, [&] {
    for (int64_t batch = 0; batch < (context.planning() ? batches : 1); ++batch) {
      peak = std::max(
          peak, run_batch(context.device, {}, 0, batch * plan.blocks, count(batch), body, flops));
    }
  });
  const ArenaScope scope(context.scratch);
  const Tensor memory = context.scratch.take("batches", {plan.workers, peak}, DType::u8);
  if (context.planning()) {
    context.flops += flops;
    return;
  }
  std::vector<double> counted(static_cast<size_t>(batches));
  cpu::run_batches(plan, batches, [&](int64_t worker, int64_t batch) {
    run_batch(context.device, memory.rows(worker, 1), peak, batch * plan.blocks, count(batch), body,
              counted[static_cast<size_t>(batch)]);
  });
  for (const double one : counted) context.flops += one;
}

int64_t blocks_at_a_time(const Context& context, int64_t elements) {
  constexpr int64_t kFewest = 8, kElements = int64_t{1} << 20, kElementsOnGpu = int64_t{1} << 26;
  const bool gpu = on_gpu(context);
  return std::max(kFewest, (gpu ? kElementsOnGpu : kElements) / elements);
}

}  // namespace dashlm
