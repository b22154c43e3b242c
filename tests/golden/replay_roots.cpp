// roots: inverse roots of small stacks by every published solver.
#include <cmath>

#include "golden/methods.h"
#include "golden/recording.h"

namespace dashlm::golden {
namespace {

std::vector<float> root_of(const Recording& recording, const std::string& matrices,
                           const std::string& method, int64_t p, std::vector<RootReport>& reports) {
  const auto device = open_device("auto");
  Arena memory(*device, "roots"), scratch(*device, "scratch");
  Context context{*device, scratch};
  const Shape shape = recording.shape(matrices);
  const auto solver = make_inverse_root(recorded_method(method));
  std::vector<int64_t> ids(static_cast<size_t>(shape[0]));
  Tensor factors, roots;
  RootReports on_device;
  const auto compute = [&] {
    solver->compute(context,
                    {.factors = factors,
                     .roots = roots,
                     .exponent = 1.0 / static_cast<double>(p),
                     .block_ids = ids},
                    on_device);
  };
  const auto take = [&] {
    factors = memory.take("factors", shape);
    roots = memory.take("roots", shape);
    on_device = RootReports::take(memory, shape[0]);
  };
  take();
  compute();
  memory.commit();
  scratch.commit();
  take();
  device->upload(factors.data, recording.floats(matrices).data(), factors.bytes());
  compute();
  std::vector<float> result(static_cast<size_t>(roots.elements()));
  device->download(result.data(), roots.data, roots.bytes());
  reports = read_reports(*device, on_device);
  return result;
}

// The recorded Chebyshev roots lack the factor scale^(-1/p), which ours has.
void undo_scale(std::vector<float>& roots, const std::vector<RootReport>& reports, int64_t p) {
  const size_t block = roots.size() / reports.size();
  for (size_t i = 0; i < roots.size(); ++i) {
    const double scale = reports[i / block].scale;
    roots[i] = static_cast<float>(roots[i] * std::pow(scale, 1.0 / static_cast<double>(p)));
  }
}

}  // namespace

Replay replay_roots(const Recording& recording) {
  Replay replay{"roots", {}};
  for (const std::string condition : {"cond1", "cond3"}) {
    for (const std::string method : {"evd", "cn", "ndb", "cbshv"}) {
      for (const int64_t p : {2, 4}) {
        const std::string name = fmt::format("{}.{}.root{}", condition, method, p);
        std::vector<RootReport> reports;
        std::vector<float> got = root_of(recording, condition + ".A", method, p, reports);
        if (method == "cbshv") undo_scale(got, reports, p);
        replay.comparisons.push_back(
            {name, relative_error(got, recording.floats(name)), tolerance_of(method, false)});
      }
    }
  }
  return replay;
}

}  // namespace dashlm::golden
