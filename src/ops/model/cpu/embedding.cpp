#include <algorithm>

#include "device/cpu/parallel.h"
#include "ops/core/cpu/in_f32.h"
#include "ops/model/backends.h"
#include "tensor/bf16.h"

namespace dashlm::cpu {
namespace {

constexpr int64_t kTokens = 256;  // rows copied by one item
constexpr int64_t kColumns = 64;  // columns summed by one item

// Not through a stand-in: the table is large, and few of its rows are read.
template <class To, class From>
void copy_rows(const Tensor& out, const ConstTensor& table, const ConstTensor& tokens) {
  const int64_t width = table.dim(1);
  const int32_t* token = tokens.i32();
  const From* from = table.as<From>();
  To* to = out.as<To>();
  parallel_ranges(tokens.dim(0), kTokens, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const From* row = from + token[i] * width;
      std::transform(row, row + width, to + i * width, [](From x) { return static_cast<To>(x); });
    }
  });
}

// Items are ranges of columns, so that two equal tokens never meet in different threads and the
// order of the sums is that of the tokens.
void add_rows(const Tensor& d_table, const ConstTensor& d_out, const ConstTensor& tokens) {
  const int64_t width = d_table.dim(1), count = tokens.dim(0);
  const int32_t* token = tokens.i32();
  const float* from = d_out.f32();
  float* to = d_table.f32();
  parallel_ranges(width, kColumns, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < count; ++i) {
      float* sum = to + token[i] * width;
      const float* row = from + i * width;
      for (int64_t j = begin; j < end; ++j) sum[j] += row[j];
    }
  });
}

}  // namespace

void embedding(Context&, const Tensor& out, const ConstTensor& table, const ConstTensor& tokens) {
  if (table.dtype == DType::f32) return copy_rows<float, float>(out, table, tokens);
  out.dtype == DType::f32 ? copy_rows<float, Bf16>(out, table, tokens)
                          : copy_rows<Bf16, Bf16>(out, table, tokens);
}

void embedding_backward(Context& context, const Tensor& d_table, const ConstTensor& d_out,
                        const ConstTensor& tokens) {
  run_in_f32(context, add_rows, d_table, reads(d_out), tokens);
}

}  // namespace dashlm::cpu
