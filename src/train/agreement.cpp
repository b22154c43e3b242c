#include "train/agreement.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/version.h"
#include "config/config.h"
#include "io/file.h"

namespace dashlm {
namespace {

// A checksum of the program's own file tells builds of one version apart.
std::string build() {
  return fmt::format("{} (checksum {:08x})", version(), crc32_of_file("/proc/self/exe"));
}

// The first difference, as "train.lr is 0.001 there and 0.002 here".
std::string first_difference(const Json& there, const Json& here) {
  std::string text;
  const auto differ = [&](const std::string& key, const Json& a, const Json& b) {
    if (text.empty()) text = fmt::format("{} is {} there and {} here", key, a.dump(), b.dump());
  };
  for_differences(there, here, differ);
  return text;
}

}  // namespace

void require_agreement(Communicator& communicator, const Json& facts) {
  Json mine = {{"build of dashlm", build()}};
  mine.update(facts);
  const std::vector<std::string> all = communicator.exchange(mine.dump());
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    fail_input(
        "rank {} disagrees with rank 0: {}; give every rank the same program, config and data",
        rank, first_difference(Json::parse(all[rank]), Json::parse(all[0])));
  }
}

void require_shared_directory(Communicator& communicator, const std::string& directory) {
  // The name belongs to this run alone. A directory of the same name on another machine lacks it.
  std::string name;
  if (communicator.rank() == 0) {
    name = fmt::format("{}/.shared.{}", directory, ::getpid());
    write_text_file(name, "");
  }
  name = communicator.exchange(name)[0];
  const bool found = std::filesystem::exists(name);
  communicator.barrier();
  if (communicator.rank() == 0) std::filesystem::remove(name);
  communicator.barrier();
  require(
      found,
      "'{}' is not the directory that rank 0 has under this name; all ranks must share the file "
      "system that it is on",
      directory);
}

void require_same_weights(Communicator& communicator, Device& device, const ParameterLayout& layout,
                          const Tensor& weights) {
  std::string sums;
  for (const Parameter& parameter : layout.parameters()) {
    const Tensor part = ParameterLayout::view(weights, parameter);
    std::vector<char> host(static_cast<size_t>(part.bytes()));
    device.download(host.data(), part.data, part.bytes());
    const uint32_t crc = crc32_of_bytes(host.data(), part.bytes());
    sums.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  }
  const std::vector<std::string> all = communicator.exchange(sums);
  for (size_t rank = 1; rank < all.size(); ++rank) {
    for (size_t i = 0; i < layout.parameters().size(); ++i) {
      const size_t at = i * sizeof(uint32_t);
      if (all[rank].compare(at, sizeof(uint32_t), all[0], at, sizeof(uint32_t)) == 0) continue;
      fail_runtime(
          "{} of rank {} is not what rank 0 has: memory or network of a machine are faulty",
          layout.parameters()[i].name, rank);
    }
  }
}

}  // namespace dashlm
