// Every method against float64: CN, NDB and Chebyshev against the same iteration, EVD against the
// exact root. scripts/inverse_root_table.py makes the tables of docs/inverse_roots.md from the
// properties that these tests record.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference.h"
#include "run_roots.h"

namespace dashlm::testing {
namespace {

constexpr double kEps = 0x1p-24;  // half an ulp of 1 in fp32

struct Case {
  const char* what;
  int64_t n;
  std::vector<double> spectrum;

  double largest() const { return *std::max_element(spectrum.begin(), spectrum.end()); }
  double least() const { return *std::min_element(spectrum.begin(), spectrum.end()); }
  // Infinite unless positive definite.
  double condition() const { return least() > 0 ? largest() / least() : HUGE_VAL; }
};

std::vector<double> with_zeros(std::vector<double> values, size_t from) {
  for (size_t i = from; i < values.size(); ++i) values[i] = 0.0;
  return values;
}

std::vector<double> slightly_negative(int64_t n) {
  std::vector<double> values = Spectrum::log_spaced(n, 1e4);
  values[values.size() / 2] = -1e-7;  // what rounding makes of a zero
  values.back() = -1e-8;
  return values;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"cond 1e2, n 17", 17, Spectrum::log_spaced(17, 1e2)},
      {"cond 1e2", 81, Spectrum::log_spaced(81, 1e2)},
      {"cond 1e4", 81, Spectrum::log_spaced(81, 1e4)},
      {"cond 1e6", 81, Spectrum::log_spaced(81, 1e6)},
      {"cond 1e8", 81, Spectrum::log_spaced(81, 1e8)},
      {"cond 1e10", 81, Spectrum::log_spaced(81, 1e10)},
      {"cond 1e12", 81, Spectrum::log_spaced(81, 1e12)},
      {"rank 1", 81, with_zeros(Spectrum::log_spaced(81, 1.0), 1)},
      {"rank 40 of 81", 81, with_zeros(Spectrum::log_spaced(81, 1e4), 40)},
      {"two slightly negative", 81, slightly_negative(81)},
      {"largest 1e-30", 81, Spectrum::log_spaced(81, 1e4, 1e-30)},
      {"largest 1e30", 81, Spectrum::log_spaced(81, 1e4, 1e30)},
      {"n 1", 1, {0.37}},
      {"n 2", 2, Spectrum::log_spaced(2, 1e4)},
      {"cond 1e4, n 1000", 1000, Spectrum::log_spaced(1000, 1e4)},
  };
  return all;
}

// How far fp32 may take an iteration from what float64 makes of the same matrix. Each step adds an
// error of some eps to M (Z·Y for NDB). While an eigenvalue of M is small, a step multiplies it,
// and the error with it, by g = (1+1/p)^p (NDB: 9/4), and log X changes by error/p. Summed over
// the steps and over the errors they add, an error of eps becomes eps·g^K/(p·(g-1)²) after K steps;
// for K = 10 that is about 1000·eps. Growth ends when the eigenvalue arrives at 1, so no error
// grows more than by s/lambda_min, s being the scale.
double growth(double p, int steps) {
  const double g = std::pow(1 + 1 / p, p);
  return std::pow(g, steps) / (p * (g - 1) * (g - 1));
}

double coupled_newton_tolerance(const Case& c, int p, double scale) {
  return kEps * (4 + std::min(growth(p, 10), scale / c.largest() * c.condition()));
}

// Two roots in a row for p = 4: the first leaves an error of eps·1.5^K/(1.5-1) in small eigenvalues
// of Y, and the second multiplies it as above; again by no more than s/lambda_min in all.
double newton_db_tolerance(const Case& c, int p, double scale) {
  if (p == 2) return coupled_newton_tolerance(c, 2, scale);
  const double most = growth(2, 10) * std::pow(1.5, 10) / 0.5;
  return kEps * (8 + std::min(most, scale / c.largest() * c.condition()));
}

// Errors of Clenshaw's recurrence grow like the derivative of T_k at the end of the interval, k²;
// half of the eigenvalues' errors add up, half cancel.
double chebyshev_tolerance(int degree) {
  return kEps * degree * degree;
}

// LAPACK's eigenvalues are those of a matrix that is some eps·lambda_max away (4 eps for n up to
// 1000), and the root of an eigenvalue v then errs by e·error/v. In float64 what remains is the
// rounding of A to fp32: n² independent errors of about eps·lambda_max/n.
double evd_tolerance(EighPrecision precision, int64_t n, double exponent, double condition) {
  const double error = precision == EighPrecision::float32 ? 4 : 4 / static_cast<double>(n);
  return kEps * (16 + error * exponent * condition);
}

struct Parameters {
  size_t index;  // of cases()
  int p;
};

class RootAccuracy : public ::testing::TestWithParam<Parameters> {
 protected:
  const Case& c_ = cases()[GetParam().index];
  const int p_ = GetParam().p;
  const double e_ = 1.0 / p_;
  const Spectrum spectrum_{c_.spectrum, 3};
  const std::vector<float> matrix_ = spectrum_.matrix();
  const Dense a_ = Dense::of(matrix_.data(), c_.n);

  RootRun run(const InverseRootConfig& config) const {
    RootRun result = run_roots(config, {matrix_}, {.exponent = e_});
    EXPECT_NE(result.reports[0].status, RootStatus::failed);
    return result;
  }

  // For the second table: the distance from A^(-e) itself, which nothing but EVD computes. Only
  // positive definite matrices have one.
  void record_exact(const std::string& method, const RootRun& result) {
    if (c_.least() <= 0) return;
    const Dense exact = spectrum_.map([&](double v) { return std::pow(v, -e_); });
    RecordProperty(method + "_exact", fmt::format("{:.1e}", relative_error(result.root(0), exact)));
  }

  // For the table in the documentation.
  void record(const std::string& method, double error, double tolerance) {
    RecordProperty(method, fmt::format("{:.1e}", error));
    EXPECT_LE(error, tolerance) << c_.what << ", " << method << ", p = " << p_;
  }
};

TEST_P(RootAccuracy, OfCoupledNewton) {
  for (const ScalingType scaling : {ScalingType::frobenius, ScalingType::multi_power_iteration}) {
    CoupledNewtonConfig config;
    config.scaling.type = scaling;
    const RootRun result = run({config});
    const double scale = result.reports[0].scale;
    record(enum_name(scaling),
           relative_error(result.root(0), reference_coupled_newton(a_, p_, scale, 10)),
           coupled_newton_tolerance(c_, p_, scale));
    record_exact(enum_name(scaling), result);
  }
}

TEST_P(RootAccuracy, OfNewtonDb) {
  if (p_ != 2 && p_ != 4) return;
  for (const ScalingType scaling : {ScalingType::frobenius, ScalingType::multi_power_iteration}) {
    NewtonDbConfig config;
    config.scaling.type = scaling;
    const RootRun result = run({config});
    const double scale = result.reports[0].scale;
    record(enum_name(scaling),
           relative_error(result.root(0), reference_newton_db(a_, p_, scale, 10)),
           newton_db_tolerance(c_, p_, scale));
    record_exact(enum_name(scaling), result);
  }
}

TEST_P(RootAccuracy, OfChebyshev) {
  if (c_.n > 100) return;  // takes minutes in float64
  ChebyshevConfig config;
  config.scaling.type = ScalingType::bound;
  config.ridge_type = RidgeType::relative;  // 1e-10 is nothing in fp32
  const RootRun result = run({config});
  record("bound",
         relative_error(result.root(0),
                        reference_chebyshev(a_, e_, result.reports[0].scale, 60, config.ridge)),
         chebyshev_tolerance(60));
  record_exact("bound", result);
}

TEST_P(RootAccuracy, OfEvd) {
  for (const EighPrecision precision : {EighPrecision::float32, EighPrecision::float64}) {
    for (const double ridge : {1e-10, 1e-5}) {
      EvdConfig config;
      config.rank_rtol = 0;
      config.precision = precision;
      config.ridge = ridge;
      config.ridge_type = RidgeType::relative;
      // The ridge counts twice, and moves the least eigenvalue to zero first if that is negative.
      const double eps = ridge * c_.largest();
      const auto h = [&](double v) { return v + 2 * eps - std::min(0.0, c_.least() + eps); };
      const double condition = h(c_.largest()) / h(c_.least());
      const Dense exact = spectrum_.map([&](double v) { return std::pow(h(v), -e_); });
      const double tolerance = evd_tolerance(precision, c_.n, e_, condition);
      const RootRun result = run({config});
      const double error = relative_error(result.root(0), exact);
      const std::string name = fmt::format("{}_ridge_{:.0e}", enum_name(precision), ridge);
      // Where errors of eigenvalues exceed the eigenvalues, only the order of magnitude is left:
      // rounding noise up to a few eps stands where there should be less.
      record(name, error, tolerance < 0.1 ? tolerance : 2.0);
      record_exact(name, result);
    }
  }
}

// docs/inverse_roots.md gives these figures: the published polynomial is no root.
TEST(Chebyshev, IsFarFromTheRootWhateverTheRounding) {
  const std::vector<float> eigenvalues_1_and_tenth = {1.0f, 0.0f, 0.0f, 0.1f};
  ChebyshevConfig config;
  config.scaling.type = ScalingType::bound;  // s = 1
  const RootRun fourth = run_roots({config}, {eigenvalues_1_and_tenth}, {.exponent = 0.25});
  EXPECT_NEAR(fourth.root(0)(0, 0), 1.0677, 1e-4);
  EXPECT_NEAR(fourth.root(0)(1, 1) * std::pow(0.1, 0.25), 1.1129, 1e-4);
  const RootRun square = run_roots({config}, {eigenvalues_1_and_tenth}, {.exponent = 0.5});
  EXPECT_NEAR(square.root(0)(0, 0), 4.3947, 1e-3);
}

std::vector<Parameters> all_parameters() {
  std::vector<Parameters> all;
  for (size_t i = 0; i < cases().size(); ++i) {
    for (const int p : {1, 2, 3, 4}) {
      if (cases()[i].n < 1000 || p == 4) all.push_back({i, p});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Cases, RootAccuracy, ::testing::ValuesIn(all_parameters()),
                         [](const auto& test) {
                           std::string name = cases()[test.param.index].what;
                           for (char& ch : name) {
                             if (ch == '-') ch = 'm';
                             if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
                           }
                           return name + "_p" + std::to_string(test.param.p);
                         });

}  // namespace
}  // namespace dashlm::testing
