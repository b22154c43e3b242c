// `dashlm bench roots --from`: on checkpoints whose factors are known.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "io/checkpoint_store.h"
#include "io/safetensors.h"
#include "system/cli/expect_words.h"
#include "system/cli/run_fixture.h"

namespace dashlm::testing {
namespace {

namespace fs = std::filesystem;

// A diagonal of n elements, evenly spaced in the logarithm from 1 down to 1/condition.
std::vector<double> log_spaced(int64_t n, double condition) {
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(std::pow(condition, -static_cast<double>(i) / static_cast<double>(n - 1)));
  }
  return values;
}

// The diagonal that a factor gets, or all of its elements, by its name and order.
using Diagonals = std::function<std::vector<double>(const std::string&, int64_t)>;

class BenchFactors : public RunTest {
 protected:
  void train_with(const Json& optimizer, const std::vector<std::string>& extra = {}) const {
    Json config = default_config();
    config["optimizer"] = optimizer;
    config["train"]["steps"] = 5;
    write_config(config);
    const ProcessResult result = train(extra);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
  }
  void train_dash() const { train_with({{"type", "dash"}, {"block_size", 16}}); }

  // Puts these factors in the place of those of the checkpoint.
  void set_factors(const Diagonals& diagonals) const {
    const std::string folder = out() + "/checkpoints/step_00000005";
    std::map<std::string, std::vector<float>> tensors;
    std::vector<SafetensorsItem> items;
    const SafetensorsReader before(folder + "/optimizer.safetensors");
    for (const auto& entry : before.entries()) {
      if (!entry.first.starts_with("L of ") && !entry.first.starts_with("R of ")) continue;
      const int64_t n = entry.second.shape[0];
      const std::vector<double> diagonal = diagonals(entry.first, n);
      std::vector<float>& matrix = tensors[entry.first];
      matrix.resize(static_cast<size_t>(n * n));
      const size_t stride = diagonal.size() == matrix.size() ? 1 : diagonal.size() + 1;
      for (size_t i = 0; i < diagonal.size(); ++i) {
        matrix[i * stride] = static_cast<float>(diagonal[i]);
      }
      items.push_back({entry.first, DType::f32, {n, n}, matrix.data()});
    }
    CheckpointStore store(out() + "/checkpoints", 3);
    const auto writer = store.begin(5);
    CheckpointPart part(writer->folder());
    part.write("optimizer.safetensors", [&](FileWriter& file) { write_safetensors(file, items); });
    part.write_text("run.json", read_file("run/checkpoints/step_00000005/run.json"));
    writer->add(part.files());
    writer->commit();
  }

  Json bench(const std::vector<std::string>& extra) const {
    std::vector<std::string> arguments = {"bench", "roots", "--from", out(), "--json"};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    const ProcessResult result = dashlm(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return Json::parse(result.output);
  }
};

const char* const kIllConditioned = "L of layer1.gate[0:16, 0:16]";
const char* const kLowRank = "R of layer1.down[0:16, 16:32]";
const char* const kZero = "L of embed[16:32, 0:16]";
const char* const kNotFinite = "R of layer0.qkv[0:16, 16:24]";
const char* const kIndefinite = "L of layer0.up[16:32, 0:16]";

// Condition 100 but for a few.
std::vector<double> diagonal_of(const std::string& name, int64_t n) {
  std::vector<double> values = log_spaced(n, name == kIllConditioned ? 1e6 : 1e2);
  if (name == kLowRank) std::fill(values.begin() + 5, values.end(), 0.0);
  if (name == kZero) std::fill(values.begin(), values.end(), 0.0);
  if (name == kNotFinite) values[3] = std::nan("");
  if (name == kIndefinite) values.back() = -0.5;
  return values;
}

TEST_F(BenchFactors, FindsTheKnownConditionsRanksAndFactorsWithoutARoot) {
  train_dash();
  set_factors(diagonal_of);
  const Json json = bench({"--blocks", "1000", "--method", "evd"});
  EXPECT_EQ(json["step"], 5);
  EXPECT_EQ(json["exponent"], 0.25);
  EXPECT_EQ(json["zero"], Json::array({kZero}));
  EXPECT_EQ(json["not_finite"], Json::array({kNotFinite}));
  EXPECT_EQ(json["factors"].size() + 2, json["available"].get<size_t>());
  for (const Json& factor : json["factors"]) {
    const std::string name = factor["name"];
    const int64_t n = factor["n"];
    const bool singular = name == kLowRank || name == kIndefinite;
    const double condition = name == kIllConditioned ? 1e6 : 1e2;
    EXPECT_EQ(factor["condition"].is_null(), singular) << name;
    if (!singular) {
      EXPECT_NEAR(factor["condition"].get<double>(), condition, 1e-3 * condition) << name;
    }
    // With 16 eigenvalues every third of a decade and more, 1e-5 is between the 12th and the 13th.
    const int64_t rank = name == kLowRank          ? 5
                         : name == kIndefinite     ? n - 1
                         : name == kIllConditioned ? 13
                                                   : n;
    EXPECT_EQ(factor["rank"], rank) << name;
    EXPECT_EQ(factor["largest"], 1.0) << name;
    EXPECT_EQ(factor["off_diagonal"], 0.0) << name;
  }
  EXPECT_NEAR(json["condition"]["min"].get<double>(), 1e2, 0.1);
  EXPECT_NEAR(json["condition"]["median"].get<double>(), 1e2, 0.1);
  EXPECT_TRUE(json["condition"]["max"].is_null());
  EXPECT_EQ(json["rank"]["min"], 5);
  EXPECT_EQ(json["rank"]["max"], 16);
}

TEST_F(BenchFactors, SaysHowDenseAFactorIs) {
  train_dash();
  set_factors([](const std::string&, int64_t n) {  // of ones: rank 1
    return std::vector<double>(static_cast<size_t>(n * n), 1.0);
  });
  const Json json = bench({"--blocks", "5", "--method", "evd"});
  ASSERT_EQ(json["factors"].size(), 5u);
  for (const Json& factor : json["factors"]) {
    const double n = factor["n"];
    EXPECT_NEAR(factor["off_diagonal"].get<double>(), std::sqrt((n - 1) / n), 1e-3);
    EXPECT_NEAR(factor["largest"].get<double>(), n, 1e-3 * n);
    EXPECT_EQ(factor["rank"], 1);
  }
}

// What is said of one factor after some steps of coupled Newton, in float64: on a diagonal it is a
// scalar iteration.
struct Expected {
  double error = 0, residual = 0;
};
Expected coupled_newton(const std::vector<double>& values, int64_t steps) {
  constexpr double kP = 4;
  double squares = 0, errors = 0, exact = 0;
  for (const double v : values) squares += v * v;
  const double z = (kP + 1) / (2 * std::sqrt(squares));
  Expected expected;
  for (const double v : values) {
    double x = std::pow(z, 1 / kP), m = z * v, residual = 0;
    for (int64_t k = 0; k < steps; ++k) {
      residual = std::fabs(m - 1);
      const double n = 1 + 1 / kP - m / kP;
      x *= n;
      m *= std::pow(n, kP);
    }
    expected.residual = std::max(expected.residual, residual);
    if (v <= 1e-5) continue;
    const double root = std::pow(v, -1 / kP);
    errors += (x - root) * (x - root);
    exact += root * root;
  }
  expected.error = std::sqrt(errors / exact);
  return expected;
}

// Their upper median and largest, as bench has them.
void expect_figures(std::vector<double> values, const Json& median, const Json& largest) {
  constexpr double kRelative = 2e-3, kRounding = 2e-5;  // four digits; 10 steps in fp32
  std::sort(values.begin(), values.end());
  const double middle = values[values.size() / 2];
  EXPECT_NEAR(median.get<double>(), middle, kRelative * middle + kRounding);
  EXPECT_NEAR(largest.get<double>(), values.back(), kRelative * values.back() + kRounding);
}

TEST_F(BenchFactors, FindsTheErrorsAndResidualsOfEachStep) {
  train_dash();
  set_factors([](const std::string& name, int64_t n) {
    return name == kIndefinite ? log_spaced(n, 1e2) : diagonal_of(name, n);
  });
  const Json json = bench({"--blocks", "1000", "--method",
                           R"({"type": "coupled_newton", "scaling": {"type": "frobenius"},
                               "matmul": "fp32", "tolerance": 0})"});
  ASSERT_EQ(json["methods"].size(), 1u) << "the method leaves nothing open";
  const Json& curve = json["methods"][0];
  ASSERT_EQ(curve["stages"].size(), 10u);
  for (size_t k = 0; k < 10; ++k) {
    std::vector<double> errors, residuals;
    for (const Json& factor : json["factors"]) {
      const std::string name = factor["name"];
      const auto diagonal = name == kIndefinite ? log_spaced(factor["n"], 1e2)
                                                : diagonal_of(name, factor["n"].get<int64_t>());
      const Expected expected = coupled_newton(diagonal, curve["stages"][k]);
      errors.push_back(expected.error);
      residuals.push_back(expected.residual);
    }
    expect_figures(errors, curve["error_median"][k], curve["error_max"][k]);
    expect_figures(residuals, curve["residual_median"][k], curve["residual_max"][k]);
    EXPECT_EQ(curve["failed"][k], 0);
  }
  EXPECT_EQ(curve["worst"], kIllConditioned);
  EXPECT_EQ(curve["unfinished"], json["factors"].size()) << "no tolerance was to be reached";
}

// An indefinite factor makes Newton's methods diverge, and EVD does not mind: it has an exact root
// on the eigenvalues above the floor.
TEST_F(BenchFactors, CountsAndNamesFactorsThatFail) {
  train_dash();
  set_factors(diagonal_of);
  const Json json = bench({"--blocks", "1000", "--method", "coupled_newton", "newton_db"});
  std::set<std::string> scalings, precisions;
  for (const Json& curve : json["methods"]) {
    scalings.insert(curve["scaling"].get<std::string>());
    precisions.insert(curve["precision"].get<std::string>());
  }
  EXPECT_TRUE(scalings.contains("bound") && precisions.contains("fp16"));
  EXPECT_EQ(json["methods"].size(), 2 * scalings.size() * precisions.size());
  for (const Json& curve : json["methods"]) {
    if (curve["precision"] == "bf16") continue;  // too coarse for others as well
    EXPECT_EQ(curve["failed"].back(), 1) << curve;
    ASSERT_EQ(curve["failed_factors"].size(), 1u);
    const auto index = curve["failed_factors"][0].get<size_t>();
    EXPECT_EQ(json["factors"][index]["name"], kIndefinite);
    EXPECT_NE(curve["worst"], kIndefinite);
  }
}

TEST_F(BenchFactors, EvdInFloat64IsExactOnTheSpan) {
  train_dash();
  set_factors([](const std::string& name, int64_t n) {
    return name == kIndefinite ? log_spaced(n, 1e2) : diagonal_of(name, n);
  });
  const Json json = bench({"--blocks", "1000", "--method", "evd"});
  ASSERT_EQ(json["methods"].size(), 2u);
  EXPECT_EQ(json["methods"][0]["precision"], "float32");
  EXPECT_EQ(json["methods"][1]["precision"], "float64");
  for (const Json& curve : json["methods"]) {
    EXPECT_TRUE(curve["scaling"].is_null());
    EXPECT_FALSE(curve.contains("residual_median"));
    EXPECT_EQ(curve["stages"], Json::array({1}));
    EXPECT_LT(curve["error_max"][0], 4 * 0x1p-24) << "a diagonal needs no decomposition";
  }
}

// All eigenvalues but the largest are just above the floor. fp32 finds some of them below it, which
// EVD must not cut off: their roots would be missed altogether, an error of 0.2 and more.
TEST_F(BenchFactors, EvdCutsOffNothingThatIsMeasured) {
  constexpr double kSmall = 1.002e-5;
  train_dash();
  set_factors([](const std::string&, int64_t n) {  // kSmall·I + b·ones, of largest eigenvalue 1
    const double b = (1 - kSmall) / static_cast<double>(n);
    std::vector<double> values(static_cast<size_t>(n * n), b);
    for (size_t i = 0; i < values.size(); i += static_cast<size_t>(n) + 1) values[i] += kSmall;
    return values;
  });
  const Json json = bench({"--blocks", "1000", "--method", "evd"});
  for (const Json& factor : json["factors"]) EXPECT_EQ(factor["rank"], factor["n"]);
  for (const Json& curve : json["methods"]) {
    // LAPACK errs by 4 eps · lambda_max or so, and the root by a quarter of that.
    EXPECT_LT(curve["error_max"][0], 0.25 * 4 * 0x1p-23 / kSmall) << curve;
  }
}

TEST_F(BenchFactors, DependsOnNoThreadsAndSpreadsItsChoice) {
  train_dash();
  const auto text = [&](const char* threads) {
    return dashlm(
        {"bench", "roots", "--from", out(), "--blocks", "9", "--json", "--threads", threads});
  };
  const ProcessResult one = text("1"), three = text("3");
  ASSERT_EQ(one.exit_code, 0) << one.errors;
  EXPECT_EQ(one.output, three.output);
  std::set<std::string> parameters;
  const Json json = Json::parse(one.output);
  for (const Json& factor : json["factors"]) {
    const std::string name = factor["name"];
    parameters.insert(name.substr(0, name.find('[')));
  }
  EXPECT_EQ(json["factors"].size() + json["zero"].size(), 9u);
  EXPECT_EQ(parameters.size(), json["factors"].size()) << "each of another parameter or side";
}

TEST_F(BenchFactors, TableNamesTheWorstFactor) {
  train_dash();
  set_factors(diagonal_of);
  const ProcessResult result = dashlm({"bench", "roots", "--from", out() + "/checkpoints",
                                       "--blocks", "1000", "--method", "newton_db", "chebyshev"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  for (const char* words :
       {"1 more are zero, 1 not finite", "max infinite", "newton_db", "multi_power_iteration",
        "tf32", kIllConditioned, "median error after step", "median residual before step"}) {
    EXPECT_NE(result.output.find(words), std::string::npos) << words << "\n" << result.output;
  }
}

TEST_F(BenchFactors, SaysWhatIsWrongWithTheRun) {
  expect_words(dashlm({"bench", "roots", "--from", path("nothing")}), 1,
               {path("nothing"), "neither a checkpoint nor a run directory"});
  train_with({{"type", "adamw"}});
  expect_words(dashlm({"bench", "roots", "--from", out()}), 1,
               {out(), "\"adamw\"", "name a run of dash or shampoo"});
  fs::remove_all(out() + "/checkpoints");
  expect_words(dashlm({"bench", "roots", "--from", out()}), 1,
               {out(), "holds no complete checkpoint"});
}

TEST_F(BenchFactors, SaysWhatIsWrongWithTheQuestion) {
  train_dash();
  expect_words(dashlm({"bench", "roots", "--from", out(), "--exponent", "0.3"}), 1,
               {"exponent = 0.3", "use evd or chebyshev"});
  expect_words(dashlm({"bench", "roots", "--from", out(), "--trace"}), 1, {"--from", "--trace"});
  expect_words(dashlm({"bench", "roots", "--floor", "1e-4"}), 1, {"--floor", "--from"});
  expect_words(dashlm({"bench", "roots", "--from", out(), "--method", "newton"}), 1,
               {"--method", "newton_db"});
  set_factors([](const std::string&, int64_t n) {
    return std::vector<double>(static_cast<size_t>(n), 0.0);
  });
  expect_words(dashlm({"bench", "roots", "--from", out()}), 1, {out(), "are zero", "later"});
}

}  // namespace
}  // namespace dashlm::testing
