// Every method against float64: CN, NDB and Chebyshev against the same iteration, EVD against the
// exact root. scripts/inverse_root_table.py makes the tables of docs/inverse_roots.md from the
// properties that these tests record.
#include <gtest/gtest.h>

#include "reference.h"
#include "run_roots.h"

namespace dashlm::testing {
namespace {

constexpr double kEps = 0x1p-24;  // half an ulp of 1 in fp32

struct Case {
  const char* what;
  int64_t n;
  std::vector<double> spectrum;
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
      {"largest 1e-40", 17, Spectrum::log_spaced(17, 1e2, 1e-40)},
      {"n 1", 1, {0.37}},
      {"n 2", 2, Spectrum::log_spaced(2, 1e4)},
      {"cond 1e4, n 1000", 1000, Spectrum::log_spaced(1000, 1e4)},
  };
  return all;
}

TEST(Probe, All) {
  for (const Case& c : cases()) {
    const Spectrum spectrum(c.spectrum, 3);
    const std::vector<float> a32 = spectrum.matrix();
    const Dense a = Dense::of(a32.data(), c.n);
    for (int p : {1, 2, 3, 4}) {
      const double e = 1.0 / p;
      for (int scaling = 0; scaling < 2; ++scaling) {
        std::printf("%-24s p %d %s", c.what, p, scaling ? "power" : "frob ");
        const auto report = [&](const char* name, const RootRun& run, const Dense& ref) {
          std::printf("  %s %.1e (%d,%d,%.0e)", name, relative_error(run.root(0), ref),
                      (int)run.reports[0].status, run.reports[0].steps, run.reports[0].residual);
        };
        const auto cfg = [&](InverseRootConfig x) { return scaling ? x : with_frobenius(x); };
        RootRun run = run_roots(cfg({CoupledNewtonConfig{}}), {a32}, {.exponent = e});
        report("cn", run, reference_coupled_newton(a, p, run.reports[0].scale, 10));
        if (p == 2 || p == 4) {
          run = run_roots(cfg({NewtonDbConfig{}}), {a32}, {.exponent = e});
          report("ndb", run, reference_newton_db(a, p, run.reports[0].scale, 10));
        }
        if (c.n < 1000) {
          ChebyshevConfig ch;
          ch.ridge_type = RidgeType::relative;
          run = run_roots(cfg({ch}), {a32}, {.exponent = e});
          report("cb", run, reference_chebyshev(a, e, run.reports[0].scale, 60, 1e-10));
        }
        if (scaling == 0) {
          EvdConfig ev;
          ev.ridge_type = RidgeType::relative;
          for (double r : {1e-10, 1e-5}) {
            for (auto prec : {EighPrecision::float32, EighPrecision::float64}) {
              ev.ridge = r;
              ev.precision = prec;
              run = run_roots({ev}, {a32}, {.exponent = e});
              double most = 0, least = 1e300;
              for (double v : c.spectrum)
                most = std::max(most, std::fabs(v)), least = std::min(least, v);
              report("evd", run, spectrum.map([&](double v) {
                return std::pow(v + 2 * r * most - std::min(0.0, least + r * most), -e);
              }));
            }
          }
        }
        std::printf("\n");
      }
    }
  }
}

}  // namespace
}  // namespace dashlm::testing
