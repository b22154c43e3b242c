// A few parameters of awkward shapes, with an optimizer over them whose memory was planned first.
#pragma once

#include <memory>
#include <vector>

#include "optim/optimizer_config.h"
#include "support/lab.h"
#include "support/optimizer_settings.h"

namespace dashlm::testing {

// Dimensions that no block size divides, all four kinds of edge blocks, vectors of any length.
inline ParameterLayout awkward_parameters() {
  return ParameterLayout({{"a", {13, 9}, 0, 1},
                          {"b", {8, 8}, 0, 1},
                          {"c", {5}, 0, 1},
                          {"d", {4, 16}, 0, 1},
                          {"e", {1, 7}, 0, 1},
                          {"f", {6, 1}, 0, 1},
                          {"g", {1}, 0, 1}});
}

// Every block of every parameter; lr_scale has one entry a parameter, or none.
inline std::vector<Block> cut_into_blocks(const ParameterLayout& layout, const BlockCut& cut,
                                          const std::vector<double>& lr_scale = {}) {
  std::vector<Block> blocks;
  for (size_t i = 0; i < layout.parameters().size(); ++i) {
    const double scale = lr_scale.empty() ? 1 : lr_scale[i];
    cut_parameter(blocks, layout.parameters()[i], {.parameter = i, .lr_scale = scale}, cut);
  }
  return blocks;
}

class StepLab {
 public:
  explicit StepLab(const OptimizerConfig& config,
                   const ParameterLayout& layout = awkward_parameters(), int threads = 2)
      : layout_(layout), device_(open_device(DASHLM_TEST_DEVICE, threads)) {
    build(config);
    optimizer_->update(context_, {});
    planned_bytes_ = state_.peak_bytes();
    planned_flops_ = context_.flops;
    state_.commit();
    scratch_.commit();
    build(config);
    optimizer_->initialize(context_);
    fill(weights_, 0, 1.0);
  }

  const ParameterLayout& layout() const { return layout_; }
  Optimizer& optimizer() { return *optimizer_; }
  std::vector<BlockStatistics> statistics() { return optimizer_->statistics(context_); }
  int64_t planned_bytes() const { return planned_bytes_; }
  double planned_flops() const { return planned_flops_; }
  // Of update `t`, as it is made.
  double flops_of_update(int64_t t) {
    const double before = context_.flops;
    set_gradients(t);
    update(t);
    return context_.flops - before;
  }

  // Gradients of update `t`: normally distributed, the same for every optimizer.
  void set_gradients(int64_t t, double scale = 1e-2) { fill(gradients_, t, scale); }
  Tensor gradient(size_t parameter) const {
    return ParameterLayout::view(gradients_, layout_.parameters()[parameter]);
  }
  Tensor weight(size_t parameter) const {
    return ParameterLayout::view(weights_, layout_.parameters()[parameter]);
  }
  std::vector<float> weights() const {
    return {weights_.f32(), weights_.f32() + weights_.elements()};
  }
  std::vector<float> weights(size_t parameter) const {
    const Tensor part = weight(parameter);
    return {part.f32(), part.f32() + part.elements()};
  }

  void update(int64_t t, double lr = 0.1, double gradient_scale = 1) {
    optimizer_->update(context_, {.update = t, .lr = lr, .gradient_scale = gradient_scale});
  }
  // Updates 1 to `count` on their gradients.
  void run(int64_t count, double scale = 1e-2) {
    for (int64_t t = 1; t <= count; ++t) {
      set_gradients(t, scale);
      update(t);
    }
  }

  Tensor state(const std::string& name) const {
    for (const Tensor& tensor : optimizer_->state()) {
      if (tensor.name == name) return tensor;
    }
    ADD_FAILURE() << "no state called " << name;
    return {};
  }
  // Frobenius norms of all roots, in the order of the state.
  std::vector<double> root_norms() const {
    std::vector<double> norms;
    for (const Tensor& tensor : optimizer_->state()) {
      if (!tensor.name.text().starts_with("root of")) continue;
      const Doubles x = values(tensor);
      norms.push_back(norm(x.data(), std::ssize(x)));
    }
    return norms;
  }

 private:
  void build(const OptimizerConfig& config) {
    weights_ = state_.take("weights", {layout_.elements()});
    gradients_ = state_.take("gradients", {layout_.elements()});
    optimizer_ = make_optimizer(
        config, {optimizer_blocks(config, layout_), weights_, gradients_, state_, /*seed=*/3});
  }

  static void fill(const Tensor& flat, int64_t step, double scale) {
    const CounterRandom random(11, Purpose::test, static_cast<uint64_t>(step));
    for (int64_t i = 0; i < flat.elements(); ++i) {
      flat.f32()[i] = static_cast<float>(scale * random.normal(static_cast<uint64_t>(i)));
    }
  }

  const ParameterLayout layout_;
  std::unique_ptr<Device> device_;
  Arena state_{*device_, "state"}, scratch_{*device_, "scratch"};
  Context context_{*device_, scratch_};
  Tensor weights_, gradients_;
  std::unique_ptr<Optimizer> optimizer_;
  int64_t planned_bytes_ = 0;
  double planned_flops_ = 0;
};

// DASH with blocks of 4 and full preconditioning of vectors.
inline OptimizerConfig small_dash() {
  OptimizerConfig config("dash");
  block_shampoo(config).block_size = 4;
  block_shampoo(config).vectors = VectorRule::shampoo;
  return config;
}

// ‖a - b‖ / ‖b‖
inline double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

// b - a
inline std::vector<float> movement(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> moved(a.size());
  for (size_t i = 0; i < a.size(); ++i) moved[i] = b[i] - a[i];
  return moved;
}

}  // namespace dashlm::testing
