// Replays of optimizer steps: recordings that hold every gradient, and the weights after each step.
#pragma once

#include <functional>

#include "golden/recording.h"

namespace dashlm::golden {

// p0, p1, ... with the shapes of the recording, each as `shape_of` makes it.
ParameterLayout recorded_parameters(const Recording& recording,
                                    const std::function<Shape(const Shape&)>& shape_of);

// Called with the weights of a parameter after a step.
using StepCheck =
    std::function<void(const Parameter&, int64_t step, const std::vector<float>& weights)>;

// Makes the recorded steps with this optimizer from the recorded weights and gradients.
void replay_steps(const Recording& recording, const ParameterLayout& layout,
                  const OptimizerConfig& config, const StepCheck& check);

// The largest difference as a share of the largest way that a weight has gone.
double step_error(const std::vector<float>& got, const std::vector<float>& wanted,
                  const std::vector<float>& start);

// Every number within a text, in order: "(0.9, 0.95)", "matrices 0.25, vectors 0.5".
std::vector<double> numbers_in(const std::string& text);

}  // namespace dashlm::golden
