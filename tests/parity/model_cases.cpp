// Embedding, normalisation, rotation, activation, loss, conversion, sums.
#include <fmt/format.h>

#include "ops/core/convert.h"
#include "ops/core/reduce.h"
#include "ops/model/cross_entropy.h"
#include "ops/model/embedding.h"
#include "ops/model/rms_norm.h"
#include "ops/model/rope.h"
#include "ops/model/swiglu.h"
#include "parity/table.h"

namespace dashlm::parity {
namespace {

struct Size {
  int64_t rows, cols;

  std::string text() const { return fmt::format("{}x{}", rows, cols); }
  int64_t elements() const { return rows * cols; }
};

std::vector<Size> sizes_of(Sizes sizes, std::vector<Size> small, Size large) {
  return sizes == Sizes::large ? std::vector<Size>{large} : std::move(small);
}

void add_embedding(Cases& cases, Sizes sizes) {
  for (const Size s : sizes_of(sizes, {{1, 1}, {7, 33}, {40, 64}}, {4096, 512})) {
    const int64_t vocabulary = sizes == Sizes::large ? 32000 : 11;
    for (const Types t : model_types()) {
      cases.push_back(
          {"embedding", fmt::format("embedding {} {}", s.text(), text(t)), [=](Run& run) {
             const Tensor table = run.normal("table", t.compute, {vocabulary, s.cols});
             const Tensor tokens = run.integers("tokens", {s.rows}, 0, vocabulary);
             const Tensor out = run.output("out", t.residual, {s.rows, s.cols}, kExact);
             run.compute([&](Context& c) { embedding(c, out, table, tokens); });
           }});
    }
    for (const DType dtype : {DType::f32, DType::bf16}) {
      cases.push_back(
          {"embedding_backward", fmt::format("embedding_backward {} {}", s.text(), name_of(dtype)),
           [=](Run& run) {
             const Tensor table =
                 run.updated(run.normal("d_table", DType::f32, {vocabulary, s.cols}),
                             sum_bound(DType::f32, s.rows));
             const Tensor d_out = run.normal("d_out", dtype, {s.rows, s.cols});
             const Tensor tokens = run.integers("tokens", {s.rows}, 0, vocabulary);
             run.compute([&](Context& c) { embedding_backward(c, table, d_out, tokens); });
           }});
    }
  }
}

void rms_norm_case(Run& run, const Size s, const Types t) {
  const Tensor x = run.normal("x", t.residual, {s.rows, s.cols}, 1, 0.2);
  const Tensor weight = run.normal("weight", t.compute, {s.cols}, 0.3, 1);
  const Tensor out = run.output("out", t.compute, {s.rows, s.cols}, element_bound(t.compute));
  const Tensor rstd = run.output("rstd", DType::f32, {s.rows}, sum_bound(DType::f32, s.cols));
  run.compute([&](Context& c) { rms_norm(c, out, rstd, x, weight, 1e-5f); });
}

void rms_norm_backward_case(Run& run, const Size s, const Types t) {
  const Shape full{s.rows, s.cols};
  const Tensor x = run.normal("x", t.residual, full, 1, 0.2);
  const Tensor weight = run.normal("weight", t.compute, {s.cols}, 0.3, 1);
  const Tensor d_out = run.normal("d_out", t.compute, full);
  const Tensor rstd = run.normal("rstd", DType::f32, {s.rows}, 0.1, 1);
  const Bound d_x_bound = sum_bound(t.residual, s.cols);
  const Tensor d_x = run.updated(run.normal("d_x", t.residual, full), d_x_bound);
  const Tensor d_weight =
      run.updated(run.normal("d_weight", DType::f32, {s.cols}), sum_bound(DType::f32, s.rows));
  // Of the new d_x: once more rounded where d_x is wider.
  const Tensor rounded = t.compute == DType::bf16
                             ? run.rounded_output("rounded", full, sum_bound(DType::bf16, s.cols))
                             : Tensor{};
  run.compute([&](Context& c) {
    rms_norm_backward(c, {d_x, d_weight, d_out, x, rstd, weight, rounded});
  });
}

void add_rms_norm(Cases& cases, Sizes sizes) {
  for (const Size s : sizes_of(sizes, {{1, 1}, {3, 33}, {5, 64}, {2, 1030}}, {2048, 2048})) {
    for (const Types t : model_types()) {
      cases.push_back({"rms_norm", fmt::format("rms_norm {} {}", s.text(), text(t)),
                       [=](Run& run) { rms_norm_case(run, s, t); }});
      cases.push_back({"rms_norm_backward",
                       fmt::format("rms_norm_backward {} {}", s.text(), text(t)),
                       [=](Run& run) { rms_norm_backward_case(run, s, t); }});
    }
  }
}

struct RopeSize {
  int64_t batch, length, rotated, heads, width;
};

void add_rope(Cases& cases, Sizes sizes) {
  const std::vector<RopeSize> shapes =
      sizes == Sizes::large
          ? std::vector<RopeSize>{{4, 1024, 32, 48, 128}}
          : std::vector<RopeSize>{{1, 1, 1, 1, 2}, {2, 5, 3, 4, 6}, {1, 9, 2, 3, 32}};
  for (const RopeSize s : shapes) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const auto direction : {RopeDirection::forward, RopeDirection::backward}) {
        const char* word = direction == RopeDirection::forward ? "forward" : "backward";
        cases.push_back(
            {"rope",
             fmt::format("rope {} {}x{}x{}x{} {}", word, s.batch, s.length, s.heads, s.width,
                         name_of(dtype)),
             [=](Run& run) {
               constexpr int64_t kFirst = 2;
               // A rotation keeps the length of a pair, so an element's error is as the pair's.
               Bound bound = element_bound(dtype);
               if (dtype == DType::bf16) bound.norm = 8 * kRoundoff;
               const Tensor x = run.updated(
                   run.normal("x", dtype, {s.batch, s.length, s.heads, s.width}), bound);
               const Tensor table =
                   run.output("table", DType::f32, {s.length + kFirst, s.width / 2, 2}, kExact);
               run.compute([&](Context& c) {
                 fill_rope_table(c, table, 10000);
                 rope(c, x, table, s.rotated, direction, kFirst);
               });
             }});
      }
    }
  }
}

void add_swiglu(Cases& cases, Sizes sizes) {
  for (const Size s : sizes_of(sizes, {{1, 1}, {3, 33}, {4, 64}}, {1024, 5632})) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const std::string suffix = fmt::format(" {} {}", s.text(), name_of(dtype));
      cases.push_back(
          {"swiglu", "swiglu" + suffix, [=](Run& run) {
             const Tensor in = run.normal("gate_up", dtype, {s.rows, 2 * s.cols}, 2);
             const Tensor out = run.output("out", dtype, {s.rows, s.cols}, element_bound(dtype));
             run.compute([&](Context& c) { swiglu(c, out, in); });
           }});
      cases.push_back({"swiglu_backward", "swiglu_backward" + suffix, [=](Run& run) {
                         // In place, as in the model.
                         const Tensor in =
                             run.updated(run.normal("gate_up", dtype, {s.rows, 2 * s.cols}, 2),
                                         element_bound(dtype));
                         const Tensor d_out = run.normal("d_out", dtype, {s.rows, s.cols});
                         run.compute([&](Context& c) { swiglu_backward(c, in, d_out, in); });
                       }});
    }
  }
}

// Every second one is ignored.
Tensor targets(Run& run, const Size s) {
  Doubles values = run.values(run.integers("drawn", {s.rows}, 0, s.cols));
  for (size_t i = 1; i < values.size(); i += 2) values[i] = kIgnoredTarget;
  return run.given("targets", DType::i32, {s.rows}, values);
}

// The loss is a difference of numbers of its own size: max + log(sum) - logit.
Bound loss_bound(const Size s) {
  return {16 * kRoundoff, 4 * kRoundoff * std::sqrt(static_cast<double>(s.cols))};
}

void add_cross_entropy(Cases& cases, Sizes sizes) {
  for (const Size s : sizes_of(sizes, {{1, 1}, {5, 33}, {3, 1030}}, {512, 32000})) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      cases.push_back(
          {"cross_entropy", fmt::format("cross_entropy {} {}", s.text(), name_of(dtype)),
           [=](Run& run) {
             const Tensor logits = run.normal("logits", DType::f32, {s.rows, s.cols}, 2);
             const Tensor losses = run.output("losses", DType::f32, {s.rows}, loss_bound(s));
             // exp() of a difference, over a sum of V terms of one sign; at the target 1 is taken
             // off, which leaves the error of a number of size 1.
             Bound bound = element_bound(dtype);
             bound.element += 8 * kRoundoff * std::sqrt(static_cast<double>(s.cols));
             bound.norm = 16 * kRoundoff;
             const Tensor gradient = run.output("gradient", dtype, {s.rows, s.cols}, bound);
             const Tensor target = targets(run, s);
             run.compute(
                 [&](Context& c) { cross_entropy(c, losses, gradient, logits, target, 0.25f); });
           }});
    }
    cases.push_back(
        {"cross_entropy", fmt::format("cross_entropy {} f32 in place", s.text()), [=](Run& run) {
           const Bound bound{32 * kRoundoff * std::sqrt(static_cast<double>(s.cols)),
                             16 * kRoundoff};
           const Tensor logits =
               run.updated(run.normal("logits", DType::f32, {s.rows, s.cols}, 2), bound);
           const Tensor losses = run.output("losses", DType::f32, {s.rows}, loss_bound(s));
           const Tensor target = targets(run, s);
           run.compute(
               [&](Context& c) { cross_entropy(c, losses, logits, logits, target, 0.25f); });
         }});
    cases.push_back(
        {"cross_entropy_loss", fmt::format("cross_entropy_loss {}", s.text()), [=](Run& run) {
           const Tensor logits = run.normal("logits", DType::f32, {s.rows, s.cols}, 2);
           const Tensor losses = run.output("losses", DType::f32, {s.rows}, loss_bound(s));
           const Tensor target = targets(run, s);
           run.compute([&](Context& c) { cross_entropy_loss(c, losses, logits, target); });
         }});
  }
}

void add_convert(Cases& cases, Sizes sizes) {
  for (const Size s : sizes_of(sizes, {{1, 1}, {1, 33}, {8, 129}}, {2048, 2048})) {
    for (const DType from : {DType::f32, DType::bf16}) {
      for (const DType to : {DType::f32, DType::bf16}) {
        cases.push_back(
            {"convert", fmt::format("convert {} {} to {}", s.text(), name_of(from), name_of(to)),
             [=](Run& run) {
               // No bit may differ between devices; what rounding loses, a widened run has.
               const Bound bound =
                   to == DType::bf16 && from == DType::f32 ? Bound{kRoundoffBf16, 0} : kExact;
               const Tensor in = run.normal("in", from, {s.rows, s.cols});
               const Tensor out = run.output("out", to, {s.rows, s.cols}, bound);
               run.compute([&](Context& c) { convert(c, out, in); });
             }});
      }
    }
  }
}

void add_sums(Cases& cases, Sizes sizes) {
  for (const Size s : sizes_of(sizes, {{1, 1}, {1, 1000}, {3, 1031}}, {2048, 2048})) {
    cases.push_back({"sums", fmt::format("sums {}", s.text()), [=](Run& run) {
                       const Bound bound{0x1.0p-46, 0};  // of a sum in double precision
                       const Tensor x = run.normal("x", DType::f32, {s.rows, s.cols}, 1, 0.5);
                       const Tensor total =
                           run.updated(run.given("sum", DType::f64, {1}, {0.25}), bound);
                       const Tensor squares =
                           run.updated(run.given("squares", DType::f64, {1}, {0.25}), bound);
                       run.compute([&](Context& c) {
                         add_sum(c, total, x);
                         add_sum_of_squares(c, squares, x);
                       });
                     }});
  }
}

}  // namespace

void add_model_cases(Cases& cases, Sizes sizes) {
  for (const auto add : {add_embedding, add_rms_norm, add_rope, add_swiglu, add_cross_entropy,
                         add_convert, add_sums}) {
    add(cases, sizes);
  }
}

}  // namespace dashlm::parity
