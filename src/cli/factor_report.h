// The results of `dashlm bench roots --from`, as text and as JSON.
//
// --json writes one object, which scripts turn into pictures:
//
//   checkpoint, step   the checkpoint, and its step
//   exponent, floor    e of A^(-e); errors are on eigenvalues above floor · lambda_max
//                      (ops/roots/exact_root.h)
//   available          number of factors in the checkpoint
//   factors            the chosen factors:
//                      [{name, n, largest (eigenvalue), condition (null: singular),
//                      rank (eigenvalues above the floor), off_diagonal (the share of ‖A‖_F that
//                      elements off the diagonal have: 0 for a diagonal factor)}]
//   condition, rank    {min, median, max} over these factors
//   zero, not_finite   names of factors that were chosen but have no root
//   methods            [{method (as --method has it), scaling (null: EVD), precision,
//                      stages: [steps made]; Chebyshev: degrees; EVD: [1]
//                      error_median, error_max: [after each stage]
//                      residual_median, residual_max: [max |M - I| with which the last step of each
//                        stage began]; Newton's methods only
//                      failed: [factors that failed, after each stage]
//                      failed_factors: [indices of `factors`, after the last stage]
//                      unfinished: factors that did not reach the tolerance after the last stage
//                      worst: name of the factor with error_max after the last stage}]
//
// Errors and residuals leave out factors that failed. They are null where all failed. A singular
// matrix has infinite condition. Figures have four digits.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace dashlm {

// One recorded factor.
struct FactorFigures {
  std::string name;
  int64_t n = 0;
  double largest = 0;       // eigenvalue
  double condition = 0;     // infinite for a singular one
  int64_t rank = 0;         // eigenvalues above the floor
  double off_diagonal = 0;  // 0 to 1
};

// Of the factors that did not fail after one stage of a method; NaN where all have.
struct StageFigures {
  double error_median = 0, error_max = 0;
  double residual_median = 0, residual_max = 0;
  int64_t failed = 0;
};

// One method in one scaling and one precision.
struct MethodCurve {
  std::string method;   // as --method has it
  std::string scaling;  // "": it has none
  std::string precision;
  bool has_residual = false;
  std::vector<int64_t> stages;
  std::vector<StageFigures> figures;  // one a stage
  // After the last stage:
  std::vector<size_t> failed_factors;  // indices
  int64_t unfinished = 0;
  std::string worst;  // "": all have failed
};

struct FactorReport {
  std::string checkpoint;
  int64_t step = 0;
  double exponent = 0, floor = 0;
  int64_t available = 0;
  std::vector<FactorFigures> factors;
  std::vector<std::string> zero, not_finite;
  std::vector<MethodCurve> methods;
};

Json json_of(const FactorReport& report);
// All but the methods, for which a person need not wait; then the curves of one method.
std::string head_of(const FactorReport& report);
std::string text_of(const std::vector<MethodCurve>& curves);

}  // namespace dashlm
