// Scaling: the number s by which an iteration divides its matrix, so that the eigenvalues lie in
// [0, 1]. It is computed in fp32, whatever the precision of the iteration, since in half precision
// s can come out below lambda_max. Only the products of power iterations have a precision of their
// own (`matmul`).
//
//   frobenius              s = ‖A‖_F
//   power_iteration        s = factor · ‖A·v‖ after some products of A with one random vector
//   multi_power_iteration  the same with the best of a pool of random vectors
//   bound                  s = min(‖A‖_F, max_i Σ_j |a_ij|), certainly at least lambda_max
#pragma once

#include "optim/inverse_root/stack_root.h"

namespace dashlm {

// Adds the ridge to batch.matrix and fills batch.scale with the s of the result.
//
// A relative ridge is ridge · s / factor. s / factor is the estimate of lambda_max of the matrix
// without the ridge. factor is 1 except for power iterations.
void add_ridge_and_scale(Context& context, RootBatch& batch, const ScalingConfig& scaling,
                         double ridge, RidgeType ridge_type);

}  // namespace dashlm
