// Attention: forward, backward, and with a cache.
#include <fmt/format.h>

#include "ops/model/attention.h"
#include "parity/table.h"

namespace dashlm::parity {
namespace {

struct Size {
  int64_t batch, length, query, key_value, width;

  int64_t heads() const { return query + 2 * key_value; }
  AttentionHeads groups() const { return {query, key_value}; }
  std::string text() const {
    return fmt::format("{}x{}, {} heads on {} of {}", batch, length, query, key_value, width);
  }
};

// Groups of every kind; lengths on either side of what kernels take at a time (16, 32, 64 rows).
std::vector<Size> sizes_of(Sizes sizes) {
  if (sizes == Sizes::large) return {{2, 1024, 16, 16, 128}, {1, 1000, 8, 2, 64}};
  return {{1, 1, 1, 1, 2},   {3, 1, 6, 2, 8},  {2, 5, 4, 4, 6},   {1, 33, 2, 1, 32},
          {1, 65, 2, 2, 16}, {1, 70, 3, 1, 8}, {1, 64, 1, 1, 64}, {1, 66, 1, 1, 128}};
}

// The size of results falls with the position, as more and more values are averaged: errors are
// measured against the size of a token's row, all heads together.
//
// In bf16, tensor cores take the weights of the softmax (and backward the gradients of scores) as
// rounded operands, and the backward pass reads a rounded output: each is off by up to one
// roundoff. A sum of such terms is off by about half a roundoff of its size, of which some standard
// deviations are allowed. Backward two such sums follow one another, and the second amplifies the
// first where weights are large.
Bound bound_of(DType dtype, const Size& s, double roundoffs, int64_t heads) {
  Bound bound = sum_bound(dtype, s.width + s.length);
  bound.norm *= 2;  // two products in a row
  if (dtype == DType::bf16) bound.norm += roundoffs * kRoundoffBf16;
  bound.group = heads * s.width;
  return bound;
}

Bound out_bound(DType dtype, const Size& s) {
  return bound_of(dtype, s, 4, s.query);
}

// max + log(sum), from scores that are inner products.
Bound log_sum_exp_bound(const Size& s) {
  return {8 * kRoundoff, 16 * kRoundoff * std::sqrt(static_cast<double>(s.width))};
}

void forward_case(Run& run, const Size& s, DType dtype) {
  const Tensor qkv = run.normal("qkv", dtype, {s.batch, s.length, s.heads(), s.width});
  const Tensor out =
      run.output("out", dtype, {s.batch, s.length, s.query, s.width}, out_bound(dtype, s));
  const Tensor lse =
      run.output("log_sum_exp", DType::f32, {s.batch, s.query, s.length}, log_sum_exp_bound(s));
  run.compute([&](Context& c) { attention(c, out, lse, qkv, s.groups()); });
}

void backward_case(Run& run, const Size& s, DType dtype) {
  const Tensor qkv = run.normal("qkv", dtype, {s.batch, s.length, s.heads(), s.width});
  const Tensor d_out = run.normal("d_out", dtype, {s.batch, s.length, s.query, s.width});
  const Tensor out = run.output("out", dtype, d_out.shape, out_bound(dtype, s));
  const Tensor lse =
      run.output("log_sum_exp", DType::f32, {s.batch, s.query, s.length}, log_sum_exp_bound(s));
  const Tensor d_qkv = run.output("d_qkv", dtype, qkv.shape, bound_of(dtype, s, 12, s.heads()));
  run.compute([&](Context& c) {
    attention(c, out, lse, qkv, s.groups());
    attention_backward(c, {d_qkv, d_out, out, lse, qkv}, s.groups());
  });
}

void cached_case(Run& run, const Size& s, DType dtype) {
  const int64_t past = 3, room = past + s.length + 2;
  const Tensor qkv = run.normal("qkv", dtype, {1, s.length, s.heads(), s.width});
  const Shape cache{room, s.key_value, s.width};
  const Tensor keys = run.updated(run.normal("keys", dtype, cache), kExact);
  const Tensor values = run.updated(run.normal("values", dtype, cache), kExact);
  const Tensor out = run.output("out", dtype, {1, s.length, s.query, s.width}, out_bound(dtype, s));
  run.compute([&](Context& c) { cached_attention(c, out, keys, values, qkv, s.groups(), past); });
}

}  // namespace

void add_attention_cases(Cases& cases, Sizes sizes) {
  for (const Size& s : sizes_of(sizes)) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const std::string suffix = fmt::format(" {} {}", s.text(), name_of(dtype));
      cases.push_back(
          {"attention", "attention" + suffix, [=](Run& run) { forward_case(run, s, dtype); }});
      cases.push_back({"attention_backward", "attention_backward" + suffix,
                       [=](Run& run) { backward_case(run, s, dtype); }});
      cases.push_back({"cached_attention", "cached_attention" + suffix,
                       [=](Run& run) { cached_case(run, s, dtype); }});
    }
  }
}

}  // namespace dashlm::parity
