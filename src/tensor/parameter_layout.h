// The parameters of a model: their names, shapes and places in one flat allocation.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace dashlm {

// Some rows of a matrix that stand for a matrix of their own, as the queries in a fused one.
struct RowGroup {
  std::string name;  // what follows the parameter's name: ".q"
  int64_t rows = 0;
};

struct Parameter {
  std::string name;
  Shape shape;          // (out, in) for a matrix, (n) for a vector
  int64_t offset = 0;   // elements from the start of the flat allocation
  double init_std = 0;  // matrices: of a normal distribution; vectors start as ones
  std::vector<RowGroup> row_groups = {};  // together all rows, in order; empty: they are one

  int64_t elements() const { return shape.elements(); }
  bool is_matrix() const { return shape.rank() == 2; }
};

class ParameterLayout {
 public:
  // The parameters in this order; their offsets are set.
  explicit ParameterLayout(std::vector<Parameter> parameters);

  const std::vector<Parameter>& parameters() const { return parameters_; }
  int64_t elements() const { return elements_; }
  // The part of `flat` (elements()) that belongs to `parameter`, in its shape.
  static Tensor view(const Tensor& flat, const Parameter& parameter);

 private:
  std::vector<Parameter> parameters_;
  int64_t elements_ = 0;
};

}  // namespace dashlm
