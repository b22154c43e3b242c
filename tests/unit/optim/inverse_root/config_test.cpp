#include <gtest/gtest.h>

#include "config/config.h"
#include "run_roots.h"
#include "support/expect_error.h"

namespace dashlm::testing {
namespace {

InverseRootConfig parse(const std::string& text) {
  InverseRootConfig config;
  read_config(parse_json(text, "test"), "test", [&](Schema& schema) { config.describe(schema); });
  return config;
}

TEST(InverseRootConfig, HasTheKeysOfTheChosenTypeOnly) {
  const auto evd = parse(R"({"type": "evd", "ridge": 1e-6, "ridge_type": "relative",
                             "eigenvalue_heuristic": "relu", "double_ridge": false})");
  ASSERT_EQ(evd.type(), InverseRootType::evd);
  EXPECT_EQ(std::get<EvdConfig>(evd.method).heuristic, EigenvalueHeuristic::relu);
  const auto cn = parse(R"({"type": "coupled_newton", "matmul": "fp16", "root_matmul": "tf32",
                            "scaling": {"type": "power_iteration", "steps": 5}})");
  EXPECT_EQ(std::get<CoupledNewtonConfig>(cn.method).scaling.steps, 5);
  EXPECT_EQ(std::get<CoupledNewtonConfig>(cn.method).matmul, MatmulPrecision::fp16);
  EXPECT_EQ(std::get<CoupledNewtonConfig>(cn.method).root_matmul, MatmulPrecision::tf32);
  EXPECT_EQ(std::get<CoupledNewtonConfig>(cn.method).ridge, 0.0);
  EXPECT_EQ(std::get<ChebyshevConfig>(parse(R"({"type": "chebyshev"})").method).ridge, 1e-10);

  const auto half = parse(R"({"type": "evd", "matmul": "fp16"})");
  EXPECT_EQ(std::get<EvdConfig>(half.method).matmul, MatmulPrecision::fp16);
  const auto pooled = parse(R"({"type": "newton_db", "scaling": {"matmul": "bf16"}})");
  EXPECT_EQ(pooled.scaling()->matmul, MatmulPrecision::bf16);

  expect_bad_input({"unknown key", "scaling.matmul"}, [] {
    parse(R"({"type": "newton_db", "scaling": {"type": "frobenius", "matmul": "bf16"}})");
  });
  expect_bad_input({"unknown key", "root_matmul"},
                   [] { parse(R"({"type": "newton_db", "root_matmul": "fp32"})"); });
  expect_bad_input({"unknown key", "degree"},
                   [] { parse(R"({"type": "newton_db", "degree": 60})"); });
  expect_bad_input({"unknown key", "scaling.pool"}, [] {
    parse(R"({"type": "newton_db", "scaling": {"type": "frobenius", "pool": 4}})");
  });
  expect_bad_input({"type", "newton_db"}, [] { parse(R"({"type": "cholesky"})"); });
  expect_bad_input({"steps"}, [] { parse(R"({"type": "newton_db", "steps": 0})"); });
}

TEST(InverseRootConfig, IsWrittenAsItIsRead) {
  for (const char* type : {"evd", "coupled_newton", "newton_db", "chebyshev"}) {
    InverseRootConfig config = parse(fmt::format(R"({{"type": "{}", "ridge": 0.5}})", type));
    const auto describe = [&](Schema& schema) { config.describe(schema); };
    const Json once = write_config(describe);
    config = parse(once.dump());
    EXPECT_EQ(write_config(describe), once);
    EXPECT_EQ(once["type"], type);
  }
}

TEST(InverseRootConfig, WarnsOfARidgeWithoutEffect) {
  const auto warning = [](const std::string& keys) {
    return parse(R"({"type": "evd", "eigenvalue_heuristic": )" + keys + "}").warning();
  };
  EXPECT_THAT(warning(R"("abs", "double_ridge": false, "ridge": 0.5)"),
              ::testing::HasSubstr("optimizer.inverse_root.ridge = 0.5 has no effect"));
  EXPECT_EQ(warning(R"("abs", "double_ridge": false, "ridge": 0)"), "");
  EXPECT_EQ(warning(R"("abs", "double_ridge": true)"), "");
  EXPECT_EQ(warning(R"("abs_plus_eps", "double_ridge": false)"), "");
  EXPECT_EQ(parse(R"({"type": "newton_db", "ridge": 1})").warning(), "");
}

TEST(Exponents, AreRefusedByMethodsThatCannot) {
  const auto check = [](const char* type, double e) {
    make_inverse_root(parse(fmt::format(R"({{"type": "{}"}})", type)))->check_exponent(e);
  };
  for (const double e : {1.0, 0.5, 1.0 / 3, 0.333, 0.25}) check("coupled_newton", e);
  for (const double e : {0.5, 0.25}) check("newton_db", e);
  for (const char* type : {"evd", "chebyshev"}) {
    for (const double e : {1.0, 0.4, 0.123}) check(type, e);
    expect_bad_input({"exponent"}, [&] { check(type, 0.0); });
  }
  expect_bad_input({"0.4", "coupled_newton", "evd"}, [&] { check("coupled_newton", 0.4); });
  expect_bad_input({"0.2", "coupled_newton"}, [&] { check("coupled_newton", 0.2); });
  expect_bad_input({"newton_db", "coupled_newton"}, [&] { check("newton_db", 1.0 / 3); });
}

// What the plan predicts is what the operations count, estimates of lambda_max aside.
TEST(Products, ArePredicted) {
  const std::vector<float> block = Spectrum(Spectrum::log_spaced(64, 10), 5).matrix();
  const auto device = open_device("cpu", 1);
  for (const char* type : {"coupled_newton", "newton_db", "chebyshev"}) {
    for (const double e : {0.25, 0.5}) {
      const auto config = with_frobenius(parse(fmt::format(R"({{"type": "{}"}})", type)));
      Arena arena(*device, "test"), scratch(*device, "test");
      Context context{*device, scratch};
      const Tensor factors = arena.take("factors", {3, 64, 64}),
                   roots = arena.take("roots", {3, 64, 64});
      const std::vector<int64_t> ids = {0, 1, 2};
      const auto method = make_inverse_root(config);
      method->compute(context,
                      {.factors = factors, .roots = roots, .exponent = e, .block_ids = ids},
                      RootReports::take(arena, 3));
      EXPECT_EQ(context.flops, method->products(e) * 3 * 2 * 64 * 64 * 64) << type << " " << e;
    }
  }
  // Published: 56, of which two are unused; 40, of which the first X·N and the last M are not
  // needed.
  EXPECT_EQ(make_inverse_root({NewtonDbConfig{}})->products(0.25), 54);
  EXPECT_EQ(make_inverse_root({CoupledNewtonConfig{}})->products(0.25), 36);
  EXPECT_EQ(make_inverse_root({ChebyshevConfig{}})->products(0.25), 59);
}

}  // namespace
}  // namespace dashlm::testing
