// A Llama small enough for tests, with its memory, run as a trainer would run it: planned first.
#pragma once

#include "model/llama.h"
#include "support/lab.h"

namespace dashlm::testing {

struct Batch {
  BatchShape shape;
  Tensor tokens, targets;  // (N) i32
};

// Initial values of all parameters, in host memory of layout.elements() floats.
inline void initialize_all(const ParameterLayout& layout, uint64_t seed, float* host) {
  for (size_t i = 0; i < layout.parameters().size(); ++i) {
    const Parameter& parameter = layout.parameters()[i];
    initialize_parameter(parameter, i, seed, 0,
                         {host + parameter.offset, static_cast<size_t>(parameter.elements())});
  }
}

class TinyLlama {
 public:
  // `seed` is of the weights. weights() are f32; where the model computes in bf16, it has a rounded
  // copy of those it was made with.
  explicit TinyLlama(ModelConfig config, uint64_t seed = 3, ModelTypes types = {})
      : config_(resolved(config)),
        types_(types),
        layout_(llama_parameters(config_)),
        weights_(lab_.normal("weights", {layout_.elements()}, 0)),
        gradients_(lab_.normal("gradients", {layout_.elements()}, 0)),
        table_(lab_.device(), "rope table") {
    initialize_all(layout_, seed, weights_.f32());
    computed_weights_ = types.compute == DType::f32
                            ? weights_
                            : lab_.copy("rounded weights", weights_, types.compute);
    make();
    table_.commit();
    make();
  }

  const ModelConfig& config() const { return config_; }
  const ParameterLayout& layout() const { return layout_; }
  const Llama& model() const { return *model_; }
  const Tensor& weights() const { return weights_; }
  const Tensor& gradients() const { return gradients_; }
  Lab& lab() { return lab_; }

  Batch batch(int64_t sequences, int64_t length) {
    const BatchShape shape{sequences, length};
    return {shape, lab_.integers("tokens", shape.tokens(), 0, config_.vocab_size),
            lab_.integers("targets", shape.tokens(), 0, config_.vocab_size)};
  }

  // Runs `operation` with memory planned for it, and checks that planning computed nothing, that
  // the real run takes every byte that was planned, and that none is kept.
  void run(const std::function<void(Context&, Arena&)>& operation) {
    const auto before = lab_.snapshot();
    Arena scratch(lab_.device(), "test scratch"), activations(lab_.device(), "test activations");
    Context planning{lab_.device(), scratch};
    operation(planning, activations);
    EXPECT_TRUE(lab_.snapshot() == before) << "planning computed something";
    EXPECT_EQ(scratch.mark(), 0);
    EXPECT_EQ(activations.mark(), 0);
    last_activation_bytes_ = activations.peak_bytes();
    scratch.commit();
    activations.commit();
    Context context{lab_.device(), scratch};
    operation(context, activations);
    EXPECT_EQ(context.flops, planning.flops);
    EXPECT_EQ(scratch.mark(), 0);
    EXPECT_EQ(activations.mark(), 0);
    lab_.expect_guards_intact();
  }
  int64_t last_activation_bytes() const { return last_activation_bytes_; }

  // Adds to gradients(); returns the losses.
  std::vector<float> forward_backward(const Batch& batch, float scale, bool recompute = false) {
    const Tensor losses = lab_.output("losses", {batch.shape.tokens()});
    const LlamaTensors gradients = llama_tensors(layout_, config_, gradients_);
    run([&](Context& context, Arena& arena) {
      model_->forward_backward(context, {arena, recompute}, batch.tokens, batch.targets,
                               batch.shape, scale, gradients, losses);
    });
    return floats(losses);
  }

  std::vector<float> evaluate(const Batch& batch) {
    const Tensor losses = lab_.output("losses", {batch.shape.tokens()});
    run([&](Context& context, Arena& arena) {
      model_->evaluate(context, arena, batch.tokens, batch.targets, batch.shape, losses);
    });
    return floats(losses);
  }

  // (N, V)
  Tensor logits(const Batch& batch) {
    Tensor out = lab_.output("logits", {batch.shape.tokens(), config_.vocab_size});
    run([&](Context& context, Arena& arena) {
      model_->logits(context, arena, batch.tokens, batch.shape, out);
    });
    return out;
  }

  void clear_gradients() { std::fill_n(gradients_.f32(), gradients_.elements(), 0.0f); }
  static std::vector<float> floats(const Tensor& x) { return {x.f32(), x.f32() + x.elements()}; }

 private:
  static ModelConfig resolved(ModelConfig config) {
    config.resolve();
    return config;
  }
  void make() {
    Arena scratch(lab_.device(), "test scratch");
    if (!table_.measuring()) {
      scratch.take("nothing", {1});
      scratch.commit();
    }
    Context context{lab_.device(), scratch};
    model_ = std::make_unique<Llama>(context, config_,
                                     llama_tensors(layout_, config_, computed_weights_), table_,
                                     config_.seq_len, types_.residual);
  }

  Lab lab_;
  const ModelConfig config_;
  const ModelTypes types_;
  const ParameterLayout layout_;
  Tensor weights_, computed_weights_, gradients_;
  Arena table_;
  std::unique_ptr<Llama> model_;
  int64_t last_activation_bytes_ = 0;
};

}  // namespace dashlm::testing
