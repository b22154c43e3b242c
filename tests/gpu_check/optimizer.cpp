// The optimizer step of one rank of eight of Llama-953M, beside the published milliseconds
// (docs/reference.md, "Run times": 8 × H100-80GB, slowest rank).
#include <algorithm>
#include <span>
#include <vector>

#include "base/random.h"
#include "dist/bucket_layout.h"
#include "dist/ownership.h"
#include "gpu_check/report.h"
#include "model/parameters.h"
#include "train/run_config.h"

namespace dashlm::gpu_check {
namespace {

constexpr int kRanks = 8;

// One rank's weights, gradients and optimizer; nothing of the model.
class RankOptimizer {
 public:
  RankOptimizer(Device& device, const RunConfig& config)
      : device_(device), memory_(device, "optimizer"), scratch_(device, "scratch") {
    cut(config);
    build(config);
    optimizer_->update(context_, {});
    memory_.commit();
    scratch_.commit();
    build(config);
    optimizer_->initialize(context_);
    fill(weights_, 0.02f, 0);
  }

  // One step, in ms of the device. The gradient is another one at each step, and of full rank.
  double step(int64_t update) {
    fill(gradients_, 1e-3f, update);
    const TimeMark before = device_.mark();
    optimizer_->update(context_, {.update = update, .lr = 1e-4});
    return device_.mark().milliseconds_since(before);
  }
  int64_t bytes() const { return memory_.peak_bytes() + scratch_.peak_bytes(); }
  size_t blocks() const { return own_.size(); }

 private:
  // The blocks of the costliest rank, with places in its shard.
  void cut(const RunConfig& config) {
    const ParameterLayout layout = llama_parameters(config.model);
    const std::vector<Block> blocks = optimizer_blocks(config.optimizer, layout);
    std::vector<double> costs;
    std::vector<BlockPlace> places;
    for (const Block& block : blocks) {
      costs.push_back(block_cost(config.optimizer, block));
      places.push_back(block.place);
    }
    const std::vector<int> owners = share_out(costs, kRanks);
    const std::vector<double> loads = cost_by_rank(costs, owners, kRanks);
    const auto rank =
        static_cast<int>(std::max_element(loads.begin(), loads.end()) - loads.begin());
    const BucketLayout shard(places, owners, rank, kRanks);
    for (const size_t index : shard.own_blocks()) {
      own_.push_back(blocks[index]);
      own_.back().place = shard.shard_place(index);
    }
    elements_ = shard.shard_elements();
  }

  void build(const RunConfig& config) {
    weights_ = memory_.take("weights", {elements_});
    gradients_ = memory_.take("gradients", {elements_});
    optimizer_ = make_optimizer(config.optimizer, {own_, weights_, gradients_, memory_, 1});
  }

  // A prime number of random values over and over, beginning elsewhere at each step: no two rows of
  // a block are alike. They travel to the device once.
  void fill(const Tensor& tensor, float deviation, int64_t step) {
    constexpr int64_t kPeriod = 1000003;
    if (values_.empty()) {
      values_.resize(2 * kPeriod);
      const std::span<float> period(values_.data(), kPeriod);
      CounterRandom(1, Purpose::benchmark).fill_normal(period);
      std::copy(period.begin(), period.end(), period.end());
    }
    std::vector<float> scaled(kPeriod);
    for (size_t i = 0; i < scaled.size(); ++i) {
      scaled[i] = deviation * values_[i + static_cast<size_t>(step * 77773 % kPeriod)];
    }
    const int64_t elements = tensor.elements(), first = std::min(kPeriod, elements);
    device_.upload(tensor.data, scaled.data(), first * size_of(DType::f32));
    for (int64_t begin = first; begin < elements; begin += kPeriod) {
      const int64_t count = std::min(kPeriod, elements - begin);
      device_.copy(tensor.f32() + begin, tensor.data, count * size_of(DType::f32));
    }
  }

  Device& device_;
  Arena memory_, scratch_;
  Context context_{device_, scratch_};
  std::vector<Block> own_;
  int64_t elements_ = 0;
  std::vector<float> values_;
  Tensor weights_, gradients_;
  std::unique_ptr<Optimizer> optimizer_;
};

// A row of the published table: per layer and per GPU, for one block size; 0 where there is none.
struct Row {
  const char* name;
  const char* inverse_root;  // the value of optimizer.inverse_root
  int64_t block_size;
  double layer_ms, rank_ms;
};

// What is called fp32 there is TF32 on tensor cores, also of the products besides the roots, and of
// X·N, which the "FP16" of coupled Newton leaves in fp32.
constexpr const char* kCoupledTf32 =
    R"({"type":"coupled_newton","matmul":"tf32","root_matmul":"tf32",)"
    R"("scaling":{"type":"frobenius"}})";
constexpr const char* kCoupledFp16 =
    R"({"type":"coupled_newton","matmul":"fp16","root_matmul":"tf32",)"
    R"("scaling":{"type":"frobenius"}})";
constexpr const char* kDbFrobenius =
    R"({"type":"newton_db","matmul":"tf32","scaling":{"type":"frobenius"}})";
constexpr const char* kDbPower =
    R"({"type":"newton_db","matmul":"tf32","scaling":{"type":"power_iteration"}})";

// Those with an aim (docs/gpu.md) come first.
constexpr Row kRows[] = {
    {"NDB, power iteration, tf32", kDbPower, 1024, 194, 177},
    {"CN, Frobenius, fp16", kCoupledFp16, 1024, 138, 119},
    {"CN, Frobenius, tf32", kCoupledTf32, 1024, 149, 136},
    {"NDB, Frobenius, tf32", kDbFrobenius, 1024, 188, 174},
    {"CN, Frobenius, tf32", kCoupledTf32, 2048, 221, 207},
    {"CN, Frobenius, fp16", kCoupledFp16, 2048, 169, 153},
    {"NDB, Frobenius, tf32", kDbFrobenius, 2048, 279, 264},
    {"NDB, power iteration, tf32", kDbPower, 2048, 284, 267},
};

RunConfig config_of(const Options& options, int64_t block_size, const std::string& inverse_root,
                    Stacking stacking, int64_t frequency) {
  std::vector<std::string> overrides = {
      fmt::format("optimizer.block_size={}", options.small ? block_size / 64 : block_size),
      "optimizer.inverse_root=" + inverse_root, "optimizer.matmul=tf32",
      fmt::format("optimizer.stacking={}", enum_name(stacking)),
      fmt::format("optimizer.frequency={}", frequency)};
  if (options.small) {
    overrides.insert(overrides.end(), {"model.n_layer=1", "model.d_model=32", "model.n_head=2",
                                       "model.vocab_size=96", "model.seq_len=16"});
  }
  return load_run_config(options.configs + "/llama-953m-dash.json", overrides);
}

std::string title(const std::string& name, Stacking stacking, int64_t block_size) {
  return fmt::format("{}, f=1, B={}, stacking {}", name, block_size, enum_name(stacking));
}

void check_row(Device& device, const Options& options, const Row& row, Stacking stacking,
               Report& report) {
  const RunConfig config = config_of(options, row.block_size, row.inverse_root, stacking, 1);
  RankOptimizer rank(device, config);
  std::vector<double> times;
  for (int64_t update = 1; update <= 4; ++update) {
    const double ms = rank.step(update);
    if (update > 1) times.push_back(ms);  // the first one warms up
  }
  std::sort(times.begin(), times.end());
  const double published = stacking == Stacking::rank ? row.rank_ms : row.layer_ms;
  report.info(title(row.name, stacking, row.block_size), times[times.size() / 2], "ms",
              fmt::format("{}", published));
}

// With f = 10 one step of ten computes roots, which is also what every step costs with f = 1. The
// first one that does warms up.
void check_evd(Device& device, const Options& options, int64_t block_size, double published,
               double published_of_ten, Report& report) {
  const RunConfig config = config_of(options, block_size, R"({"type":"evd"})", Stacking::rank, 10);
  RankOptimizer rank(device, config);
  rank.step(10);
  std::vector<double> plain;
  for (const int64_t update : {11, 12, 13}) plain.push_back(rank.step(update));
  std::sort(plain.begin(), plain.end());
  const double refresh = rank.step(20);
  report.info(title("EVD", Stacking::rank, block_size), refresh, "ms",
              fmt::format("{}", published));
  report.info(fmt::format("EVD, f=10 (mean of ten steps), B={}, stacking rank", block_size),
              (refresh + 9 * plain[1]) / 10, "ms", fmt::format("{}", published_of_ten));
}

}  // namespace

void check_optimizer(Device& device, const Options& options, Report& report) {
  for (const Row& row : kRows) check_row(device, options, row, Stacking::rank, report);
  for (const Row& row : kRows) check_row(device, options, row, Stacking::layer, report);
  check_evd(device, options, 1024, 2850, 313, report);
  check_evd(device, options, 2048, 1755, 210, report);
  const RankOptimizer rank(device, config_of(options, 1024, kDbPower, Stacking::rank, 1));
  report.info(fmt::format("memory of one rank, {} blocks, B=1024", rank.blocks()),
              static_cast<double>(rank.bytes()) / (1 << 30), "GiB");
}

}  // namespace dashlm::gpu_check
