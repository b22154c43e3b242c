// A = Vᵀ·diag(v)·V  =>  A^(-e) = Vᵀ·diag(h(v)^(-e))·V, with the heuristic h of spectral_root.h.
#include "optim/inverse_root/methods.h"
#include "optim/inverse_root/stack_root.h"

namespace dashlm {
namespace {

class Evd final : public StackRoot {
 public:
  explicit Evd(const EvdConfig& config) : config_(config) {}

  void check_exponent(double exponent) const override {
    require(exponent > 0, "exponent = {}, but must be positive", exponent);
  }
  double products(double) const override {
    // Measured on CPUs, where half of the decomposition runs at the speed of memory.
    constexpr double kDecomposition = 25;
    return kDecomposition;
  }

 protected:
  bool is_iterative() const override { return false; }

  RootResult solve(Context& context, RootBatch& batch) const override {
    const Shape shape = batch.matrix.shape;
    const auto take = [&](const TensorName& name, Shape s) {
      return context.scratch.take(name, s);
    };
    const Tensor values = take("evd.values", {shape[0], shape[1]});
    const Tensor weights = take("evd.weights", {shape[0], shape[1]});
    const Tensor vectors = take("evd.vectors", shape);
    eigh(context, values, vectors, batch.matrix, batch.state, config_.precision);
    spectral_root(context,
                  {.weights = weights,
                   .largest = batch.scale,
                   .condition = batch.condition,
                   .values = values,
                   .unit = batch.unit,
                   .state = batch.state},
                  {.exponent = batch.exponent,
                   .ridge = config_.ridge,
                   .relative_ridge = config_.ridge_type == RidgeType::relative,
                   .double_ridge = config_.double_ridge,
                   .heuristic = config_.heuristic,
                   .rank_rtol = config_.rank_rtol});
    from_spectrum(context, batch.matrix, weights, vectors, batch.state, config_.matmul);
    return {batch.matrix, std::nullopt};  // the weights are those of the block itself
  }

 private:
  const EvdConfig config_;
};

}  // namespace

std::unique_ptr<InverseRoot> make_evd(const EvdConfig& config) {
  return std::make_unique<Evd>(config);
}

}  // namespace dashlm
