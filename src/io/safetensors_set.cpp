#include "io/safetensors_set.h"

#include <cstdio>
#include <filesystem>

#include "base/error.h"

namespace dashlm {
namespace fs = std::filesystem;
namespace {

// The number of parts by the names of the files in `folder`; 1 for a single file.
int count_parts(const std::string& folder, const std::string& stem) {
  if (fs::exists(folder + "/" + safetensors_part_name(stem, 0, 1))) return 1;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    int part = 0, count = 0;
    if (name.starts_with(stem) &&
        std::sscanf(name.c_str() + stem.size(), "-%5d-of-%5d", &part, &count) == 2 && count > 1 &&
        name == safetensors_part_name(stem, part - 1, count)) {
      return count;
    }
  }
  fail_input("'{}' holds no {} and no parts of one", folder, safetensors_part_name(stem, 0, 1));
}

}  // namespace

std::string safetensors_part_name(const std::string& stem, int index, int count) {
  if (count == 1) return stem + ".safetensors";
  return fmt::format("{}-{:05}-of-{:05}.safetensors", stem, index + 1, count);
}

SafetensorsSet::SafetensorsSet(const std::string& folder, const std::string& stem)
    : folder_(folder), stem_(stem) {
  const int count = count_parts(folder, stem);
  for (int i = 0; i < count; ++i) {
    const std::string name = safetensors_part_name(stem, i, count);
    parts_.push_back(std::make_unique<SafetensorsReader>(folder + "/" + name));
    for (const auto& [tensor, entry] : parts_.back()->entries()) {
      const auto [known, is_new] = parts_of_.emplace(tensor, parts_.back().get());
      require(is_new, "tensor \"{}\" is in both '{}' and '{}'", tensor, known->second->path(),
              parts_.back()->path());
    }
  }
}

std::vector<std::string> SafetensorsSet::names() const {
  std::vector<std::string> result;
  for (const auto& [name, part] : parts_of_) result.push_back(name);
  return result;
}

const SafetensorsReader& SafetensorsSet::part_with(const std::string& name) const {
  const auto found = parts_of_.find(name);
  require(found != parts_of_.end(), "'{}': there is no tensor \"{}\"", path(), name);
  return *found->second;
}

void SafetensorsSet::read(const std::string& name, DType dtype, const Shape& shape,
                          void* host) const {
  part_with(name).read(name, dtype, shape, host);
}

std::vector<float> SafetensorsSet::read_f32(const std::string& name, const Shape& shape) const {
  const SafetensorsReader& part = part_with(name);
  const Shape& found = part.entries().at(name).shape;
  require(found == shape, "'{}': tensor \"{}\" is {}, but must be {}", part.path(), name,
          found.text(), shape.text());
  return part.read_f32(name);
}

}  // namespace dashlm
