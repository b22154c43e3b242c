// Speed of the operations at the shapes of one micro-batch of a small Llama: 6 layers, d 512,
// 8 heads, vocabulary 8192, 8 sequences of 256 tokens.
//
// Products report GFLOP/s and `of_peak`, the fraction of the rate of one large product of OpenBLAS
// measured at the start of the same run. Everything else reports GB/s of memory it must move at the
// least, and `of_copy`, the fraction of the rate of Device::copy.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/timer.h"
#include "device/device.h"
#include "ops/blocks/adamw.h"
#include "ops/blocks/block_table.h"
#include "ops/core/cpu_kernels.h"
#include "ops/core/matmul.h"
#include "ops/core/reduce.h"
#include "ops/model/attention.h"
#include "ops/model/cross_entropy.h"
#include "ops/model/embedding.h"
#include "ops/model/rms_norm.h"
#include "ops/model/rope.h"
#include "ops/model/swiglu.h"

namespace dashlm {
namespace {

constexpr int64_t kSequences = 8, kLength = 256, kTokens = kSequences * kLength;
constexpr int64_t kModel = 512, kHeads = 8, kHeadDim = kModel / kHeads;
constexpr int64_t kFeedForward = 1536, kVocabulary = 8192;

// A device with tensors of random numbers.
class Bench {
 public:
  Bench() : device_(open_device("auto")), scratch_(*device_, "bench scratch") {
    scratch_.take("scratch", {1 << 26});
    scratch_.commit();
  }

  Context context() { return {*device_, scratch_}; }
  Device& device() { return *device_; }

  Tensor normal(const std::string& name, Shape shape) {
    const CounterRandom random(1, Purpose::benchmark, arenas_.size());
    return make<float>(name, shape, [&](uint64_t i) { return random.normal(i); });
  }
  Tensor tokens(const std::string& name, int64_t count, int64_t vocabulary) {
    const CounterRandom random(1, Purpose::benchmark, arenas_.size());
    return make<int32_t>(name, {count}, [&](uint64_t i) {
      return random.below(static_cast<uint64_t>(vocabulary), i);
    });
  }

 private:
  template <class T, class Value>
  Tensor make(const std::string& name, Shape shape, const Value& value) {
    Arena& arena = arenas_.emplace_back(*device_, name);
    arena.take(name, shape, dtype_of<T>());
    arena.commit();
    Tensor x = arena.take(name, shape, dtype_of<T>());
    std::vector<T> host(static_cast<size_t>(x.elements()));
    for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<T>(value(i));
    device_->upload(x.data, host.data(), x.bytes());
    return x;
  }

  std::unique_ptr<Device> device_;
  Arena scratch_;
  std::deque<Arena> arenas_;
};

// What this machine can do, measured once: the best of a few tries.
struct Limits {
  double flops = 0;      // a second, of OpenBLAS's own threaded SGEMM, n = 2048
  double bandwidth = 0;  // bytes a second read and written by Device::copy of 256 MB
};

template <class Body>
double best_seconds(const Body& body) {
  double best = 1e30;
  for (int i = 0; i < 12; ++i) {
    const Timer timer;
    body();
    best = std::min(best, timer.seconds());
  }
  return best;
}

const Limits& limits() {
  static const Limits measured = [] {
    Bench bench;
    Limits result;
    constexpr int n = 2048;
    const Tensor a = bench.normal("a", {n, n}), b = bench.normal("b", {n, n});
    const Tensor c = bench.normal("c", {n, n});
    result.flops = 2.0 * n * n * n / best_seconds([&] {
                     cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, a.f32(),
                                 n, b.f32(), n, 0.0f, c.f32(), n);
                   });
    const Tensor from = bench.normal("from", {32 << 20}), to = bench.normal("to", {32 << 20});
    result.bandwidth = 2.0 * static_cast<double>(from.bytes()) /
                       best_seconds([&] { bench.device().copy(to.data, from.data, from.bytes()); });
    return result;
  }();
  return measured;
}

// Runs `body(context)` and reports its FLOPs, or the bytes it must move if given.
template <class Body>
void measure(benchmark::State& state, Bench& bench, double bytes, const Body& body) {
  const Limits& limit = limits();
  Context context = bench.context();
  for (auto _ : state) {
    body(context);
    benchmark::ClobberMemory();
  }
  const auto rate = [](double amount) {
    return benchmark::Counter(amount, benchmark::Counter::kIsRate);
  };
  const auto iterations = static_cast<double>(state.iterations());
  if (bytes > 0) {
    state.counters["GB/s"] = rate(bytes * iterations / 1e9);
    state.counters["of_copy"] = rate(bytes * iterations / limit.bandwidth);
  } else {
    state.counters["GFLOP/s"] = rate(context.flops / 1e9);
    state.counters["of_peak"] = rate(context.flops / limit.flops);
  }
}

double bytes_of(std::initializer_list<Tensor> tensors) {
  double total = 0;
  for (const Tensor& x : tensors) total += static_cast<double>(x.bytes());
  return total;
}

// Arguments (tokens, in, out): a projection and its two gradients.
void matmul_forward(benchmark::State& state) {
  const int64_t n = state.range(0), in = state.range(1), out = state.range(2);
  Bench bench;
  const Tensor x = bench.normal("x", {n, in}), w = bench.normal("w", {out, in});
  const Tensor y = bench.normal("y", {n, out});
  measure(state, bench, 0, [&](Context& c) { matmul(c, y, x, w, {.transpose_b = true}); });
}

void matmul_input_gradient(benchmark::State& state) {
  const int64_t n = state.range(0), in = state.range(1), out = state.range(2);
  Bench bench;
  const Tensor dx = bench.normal("dx", {n, in}), w = bench.normal("w", {out, in});
  const Tensor dy = bench.normal("dy", {n, out});
  measure(state, bench, 0, [&](Context& c) { matmul(c, dx, dy, w); });
}

void matmul_weight_gradient(benchmark::State& state) {
  const int64_t n = state.range(0), in = state.range(1), out = state.range(2);
  Bench bench;
  const Tensor x = bench.normal("x", {n, in}), dw = bench.normal("dw", {out, in});
  const Tensor dy = bench.normal("dy", {n, out});
  measure(state, bench, 0,
          [&](Context& c) { matmul_add(c, dw, dw, dy, x, {.transpose_a = true}); });
}

void model_products(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "in", "out"})
      ->Args({kTokens, kModel, 3 * kModel})        // qkv
      ->Args({kTokens, kModel, kModel})            // attention output
      ->Args({kTokens, kModel, 2 * kFeedForward})  // gate and up
      ->Args({kTokens, kFeedForward, kModel})      // down
      ->Args({kTokens / 4, kModel, kVocabulary});  // one chunk of the head
}

// A stack of square products, as preconditioning makes them.
void matmul_stacked(benchmark::State& state) {
  const int64_t n = state.range(0), stack = std::max<int64_t>(2, (1 << 21) / (n * n));
  Bench bench;
  const Tensor a = bench.normal("a", {stack, n, n}), b = bench.normal("b", {stack, n, n});
  const Tensor c = bench.normal("c", {stack, n, n});
  measure(state, bench, 0, [&](Context& context) { matmul(context, c, a, b); });
}

void attention_forward(benchmark::State& state) {
  const AttentionHeads heads{kHeads, state.range(0)};
  Bench bench;
  const Tensor qkv =
      bench.normal("qkv", {kSequences, kLength, kHeads + 2 * heads.key_value, kHeadDim});
  const Tensor out = bench.normal("out", {kSequences, kLength, kHeads, kHeadDim});
  const Tensor lse = bench.normal("lse", {kSequences, kHeads, kLength});
  measure(state, bench, 0, [&](Context& c) { attention(c, out, lse, qkv, heads); });
}

void attention_gradient(benchmark::State& state) {
  const AttentionHeads heads{kHeads, state.range(0)};
  Bench bench;
  const Tensor qkv =
      bench.normal("qkv", {kSequences, kLength, kHeads + 2 * heads.key_value, kHeadDim});
  const Tensor d_qkv = bench.normal("d_qkv", qkv.shape);
  const Tensor out = bench.normal("out", {kSequences, kLength, kHeads, kHeadDim});
  const Tensor d_out = bench.normal("d_out", out.shape);
  const Tensor lse = bench.normal("lse", {kSequences, kHeads, kLength});
  Context context = bench.context();
  attention(context, out, lse, qkv, heads);
  measure(state, bench, 0, [&](Context& c) {
    attention_backward(c, {d_qkv, d_out, out, lse, qkv}, heads);
  });
}

void rms_norm_forward(benchmark::State& state) {
  Bench bench;
  const Tensor x = bench.normal("x", {kTokens, kModel}), w = bench.normal("w", {kModel});
  const Tensor out = bench.normal("out", x.shape), rstd = bench.normal("rstd", {kTokens});
  measure(state, bench, bytes_of({x, out}),
          [&](Context& c) { rms_norm(c, out, rstd, x, w, 1e-5f); });
}

void rms_norm_gradient(benchmark::State& state) {
  Bench bench;
  const Tensor x = bench.normal("x", {kTokens, kModel}), w = bench.normal("w", {kModel});
  const Tensor d_out = bench.normal("d_out", x.shape), rstd = bench.normal("rstd", {kTokens});
  const Tensor d_x = bench.normal("d_x", x.shape), d_w = bench.normal("d_w", {kModel});
  measure(state, bench, bytes_of({x, d_out, d_x, d_x}), [&](Context& c) {
    rms_norm_backward(c, {d_x, d_w, d_out, x, rstd, w});
  });
}

void swiglu_forward(benchmark::State& state) {
  Bench bench;
  const Tensor in = bench.normal("gate_up", {kTokens, 2 * kFeedForward});
  const Tensor out = bench.normal("out", {kTokens, kFeedForward});
  measure(state, bench, bytes_of({in, out}), [&](Context& c) { swiglu(c, out, in); });
}

void swiglu_gradient(benchmark::State& state) {
  Bench bench;
  const Tensor in = bench.normal("gate_up", {kTokens, 2 * kFeedForward});
  const Tensor d_in = bench.normal("d_gate_up", in.shape);
  const Tensor d_out = bench.normal("d_out", {kTokens, kFeedForward});
  measure(state, bench, bytes_of({in, d_in, d_out}),
          [&](Context& c) { swiglu_backward(c, d_in, d_out, in); });
}

void rope_rotation(benchmark::State& state) {
  Bench bench;
  const Tensor x = bench.normal("qkv", {kSequences, kLength, 3 * kHeads, kHeadDim});
  const Tensor table = bench.normal("table", {kLength, kHeadDim / 2, 2});
  Context context = bench.context();
  fill_rope_table(context, table, 10000);
  // Queries and keys are read and written, values left alone.
  measure(state, bench, 2.0 / 3.0 * bytes_of({x, x}),
          [&](Context& c) { rope(c, x, table, 2 * kHeads, RopeDirection::forward); });
}

void cross_entropy_gradient(benchmark::State& state) {
  Bench bench;
  const Tensor logits = bench.normal("logits", {kTokens / 4, kVocabulary});
  const Tensor losses = bench.normal("losses", {kTokens / 4});
  const Tensor targets = bench.tokens("targets", kTokens / 4, kVocabulary);
  measure(state, bench, bytes_of({logits, logits}),
          [&](Context& c) { cross_entropy(c, losses, logits, logits, targets, 1.0f); });
}

void cross_entropy_losses(benchmark::State& state) {
  Bench bench;
  const Tensor logits = bench.normal("logits", {kTokens / 4, kVocabulary});
  const Tensor losses = bench.normal("losses", {kTokens / 4});
  const Tensor targets = bench.tokens("targets", kTokens / 4, kVocabulary);
  measure(state, bench, bytes_of({logits}),
          [&](Context& c) { cross_entropy_loss(c, losses, logits, targets); });
}

void embedding_forward(benchmark::State& state) {
  Bench bench;
  const Tensor table = bench.normal("table", {kVocabulary, kModel});
  const Tensor out = bench.normal("out", {kTokens, kModel});
  const Tensor tokens = bench.tokens("tokens", kTokens, kVocabulary);
  measure(state, bench, bytes_of({out, out}),
          [&](Context& c) { embedding(c, out, table, tokens); });
}

void embedding_gradient(benchmark::State& state) {
  Bench bench;
  const Tensor d_table = bench.normal("d_table", {kVocabulary, kModel});
  const Tensor d_out = bench.normal("d_out", {kTokens, kModel});
  const Tensor tokens = bench.tokens("tokens", kTokens, kVocabulary);
  measure(state, bench, bytes_of({d_out, d_out, d_out}),
          [&](Context& c) { embedding_backward(c, d_table, d_out, tokens); });
}

void adamw_update(benchmark::State& state) {
  Bench bench;
  const Shape shape{16 << 20};
  const Tensor w = bench.normal("w", shape), g = bench.normal("g", shape);
  const Tensor m = bench.normal("m", shape), v = bench.normal("v", shape);
  bench.device().clear(v.data, v.bytes());  // a second moment is never negative
  const Shape block{16, 1024, 1024};        // in one matrix of 16 MiB
  std::vector<BlockPlace> places;
  for (int64_t i = 0; i < 16; ++i) places.push_back({i << 20, 1024, 1024, 1024});
  std::vector<int64_t> entries = block_table(places);
  const Tensor table{entries.data(), DType::i64, {16, kBlockTableColumns}, "table"};
  std::vector<float> ones(16, 1.0f);
  const Tensor lr_scale{ones.data(), DType::f32, {16}, "lr_scale"};
  const AdamwStep step{.lr = 1e-3f, .beta1 = 0.9f, .beta2 = 0.95f, .eps = 1e-8f};
  measure(state, bench, bytes_of({g, w, w, m, m, v, v}), [&](Context& c) {
    adamw(c, {w, g, table, lr_scale, m.view(block), v.view(block)}, step);
  });
}

void reduction(benchmark::State& state) {
  Bench bench;
  const Tensor x = bench.normal("x", {16 << 20});
  measure(state, bench, bytes_of({x}),
          [&](Context& c) { benchmark::DoNotOptimize(sum_of_squares(c, x)); });
}

BENCHMARK(matmul_forward)->Apply(model_products)->UseRealTime();
BENCHMARK(matmul_input_gradient)->Apply(model_products)->UseRealTime();
BENCHMARK(matmul_weight_gradient)->Apply(model_products)->UseRealTime();
BENCHMARK(matmul_stacked)->ArgName("n")->RangeMultiplier(2)->Range(64, 512)->UseRealTime();
BENCHMARK(attention_forward)->ArgName("kv_heads")->Arg(kHeads)->Arg(2)->UseRealTime();
BENCHMARK(attention_gradient)->ArgName("kv_heads")->Arg(kHeads)->Arg(2)->UseRealTime();
BENCHMARK(rms_norm_forward)->UseRealTime();
BENCHMARK(rms_norm_gradient)->UseRealTime();
BENCHMARK(swiglu_forward)->UseRealTime();
BENCHMARK(swiglu_gradient)->UseRealTime();
BENCHMARK(rope_rotation)->UseRealTime();
BENCHMARK(cross_entropy_gradient)->UseRealTime();
BENCHMARK(cross_entropy_losses)->UseRealTime();
BENCHMARK(embedding_forward)->UseRealTime();
BENCHMARK(embedding_gradient)->UseRealTime();
BENCHMARK(adamw_update)->UseRealTime();
BENCHMARK(reduction)->UseRealTime();

}  // namespace
}  // namespace dashlm

int main(int argc, char** argv) {
  dashlm::restart_with_right_kernels(argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const dashlm::Limits& limits = dashlm::limits();
  benchmark::AddCustomContext("device", dashlm::open_device("auto")->description());
  benchmark::AddCustomContext("SGEMM peak", fmt::format("{:.1f} GFLOP/s", limits.flops / 1e9));
  benchmark::AddCustomContext("copy", fmt::format("{:.1f} GB/s", limits.bandwidth / 1e9));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
