// Counter-based random numbers: each value is a function of (seed, purpose, step, element) alone.
// So results depend on neither the number of ranks and threads nor on earlier draws, and only
// (seed, step) needs saving.
//
// Generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace dashlm {

// The use of a stream of random numbers. Streams of different purposes are independent.
enum class Purpose : uint32_t {
  weight_init = 1,
  epoch_permutation = 2,
  epoch_offset = 3,
  sampling = 4,
  power_iteration = 5,
  benchmark = 6,
  test = 7,
};

// The generator itself: 128 random bits for each counter and key.
std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

class CounterRandom {
 public:
  CounterRandom(uint64_t seed, Purpose purpose, uint64_t step = 0);

  // 64 uniformly distributed bits for `element`.
  uint64_t bits(uint64_t element) const;
  // Uniform in [0, 1), 53 bits.
  double uniform(uint64_t element) const;
  // Standard normal (Box-Muller on two uniforms of the same element).
  double normal(uint64_t element) const;
  // out[i] = deviation · normal(first + i), to the bit, in two thirds of the time.
  void fill_normal(std::span<float> out, double deviation = 1, uint64_t first = 0) const;
  // Uniform integer in [0, bound), bound > 0; the bias is below bound / 2^64.
  uint64_t below(uint64_t bound, uint64_t element) const;

 private:
  std::array<uint32_t, 4> block(uint64_t element) const;

  std::array<uint32_t, 2> key_;
  uint64_t step_;
};

}  // namespace dashlm
