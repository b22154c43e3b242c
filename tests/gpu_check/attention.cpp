// Attention alone, at the sizes of Llama-953M's micro-batch. DASHLM_ATTENTION chooses whose.
#include <cstdlib>
#include <vector>

#include "base/random.h"
#include "gpu_check/report.h"
#include "ops/core/convert.h"
#include "ops/model/attention.h"

namespace dashlm::gpu_check {

void check_attention(Device& device, const Options& options, Report& report) {
  const int64_t batch = options.small ? 1 : 32, length = options.small ? 20 : 1024;
  const int64_t heads = options.small ? 2 : 16, width = options.small ? 16 : 128;
  const AttentionHeads groups{heads, heads};
  Arena memory(device, "attention"), scratch(device, "scratch");
  Context context{device, scratch};
  Tensor source, qkv, out, d_out, d_qkv, lse;
  const auto take = [&] {
    const Shape in{batch, length, 3 * heads, width}, result{batch, length, heads, width};
    source = memory.take("source", in);
    qkv = memory.take("qkv", in, DType::bf16);
    d_qkv = memory.take("d_qkv", in, DType::bf16);
    out = memory.take("out", result, DType::bf16);
    d_out = memory.take("d_out", result, DType::bf16);
    lse = memory.take("log_sum_exp", {batch, heads, length});
  };
  const auto forward = [&] { attention(context, out, lse, qkv, groups); };
  const auto backward = [&] { attention_backward(context, {d_qkv, d_out, out, lse, qkv}, groups); };
  take();
  forward();
  const double forward_flops = context.flops;
  backward();
  const double backward_flops = context.flops - forward_flops;
  memory.commit();
  scratch.commit();
  take();
  const CounterRandom random(1, Purpose::benchmark);
  std::vector<float> host(static_cast<size_t>(source.elements()));
#pragma omp parallel for
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(random.normal(i));
  device.upload(source.data, host.data(), source.bytes());
  convert(context, qkv, source);
  convert(context, d_out,
          source.view({source.elements()}).rows(0, d_out.elements()).view(d_out.shape));
  const char* whose = std::getenv("DASHLM_ATTENTION");
  const std::string name = fmt::format("{}x{}, {} heads of {}, {}", batch, length, heads, width,
                                       whose ? whose : "as chosen");
  const auto time = [&](const char* pass, double flops, const std::function<void()>& work) {
    const double ms = median_milliseconds(device, 5, work);
    report.info(fmt::format("{} {}", pass, name), ms, "ms");
    report.info(fmt::format("{} {}", pass, name), 1e-9 * flops / ms, "TFLOP/s",
                data_sheet(device, MatmulPrecision::bf16));
  };
  time("forward", forward_flops, forward);
  time("backward", backward_flops, backward);
}

}  // namespace dashlm::gpu_check
