#include "optim/inverse_root/root_study.h"

#include <algorithm>
#include <map>

#include "optim/inverse_root/root_trial.h"

namespace dashlm {

RootStudy::RootStudy(Device& device, const std::vector<RecordedFactor>& factors, double exponent,
                     double floor)
    : device_(device), count_(factors.size()), exponent_(exponent), floor_(floor) {
  std::map<int64_t, Stack> by_order;
  for (size_t i = 0; i < count_; ++i) {
    Stack& stack = by_order[factors[i].n];
    stack.n = factors[i].n;
    stack.members.push_back(i);
    const std::vector<float>& matrix = factors[i].matrix;
    stack.matrices.insert(stack.matrices.end(), matrix.begin(), matrix.end());
  }
  for (auto& entry : by_order) {
    entry.second.exact = exact_spectra(entry.second.matrices, entry.first);
    stacks_.push_back(std::move(entry.second));
  }
}

std::vector<ExactSpectrum> RootStudy::spectra() const {
  std::vector<ExactSpectrum> all(count_);
  for (const Stack& stack : stacks_) {
    for (size_t s = 0; s < stack.members.size(); ++s) all[stack.members[s]] = stack.exact[s];
  }
  return all;
}

std::vector<RootOutcome> RootStudy::run(const InverseRootConfig& config) const {
  std::vector<RootOutcome> all(count_);
  for (const Stack& stack : stacks_) {
    RootTrial trial(device_, config, exponent_, {std::ssize(stack.members), stack.n, stack.n});
    trial.set_factors(stack.matrices);
    trial.compute();
    const std::vector<RootReport> reports = trial.reports();
    const std::vector<double> errors = root_errors(trial.roots(), stack.exact, exponent_, floor_);
    for (size_t s = 0; s < stack.members.size(); ++s) {
      all[stack.members[s]] = {reports[s].status, errors[s], reports[s].residual};
    }
  }
  return all;
}

std::vector<int64_t> stages_of(const InverseRootConfig& config) {
  std::vector<int64_t> stages;
  const auto add = [&](const auto& method) {
    if constexpr (requires { method.steps; }) {
      for (int64_t k = 1; k <= method.steps; ++k) stages.push_back(k);
    } else if constexpr (requires { method.degree; }) {
      constexpr int64_t kParts = 6, kLeast = 2;
      for (int64_t k = 1; k <= kParts; ++k) {
        stages.push_back(std::max(kLeast, method.degree * k / kParts));
      }
      stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
    } else {
      stages.push_back(1);
    }
  };
  std::visit(add, config.method);
  return stages;
}

InverseRootConfig with_stage(InverseRootConfig config, int64_t stage) {
  const auto set = [stage](auto& method) {
    if constexpr (requires { method.steps; }) {
      method.steps = stage;
    } else if constexpr (requires { method.degree; }) {
      method.degree = stage;
    }
  };
  std::visit(set, config.method);
  return config;
}

}  // namespace dashlm
