// The safetensors file format: a JSON header with names, types, shapes and offsets, then the data.
// https://huggingface.co/docs/safetensors: 8 bytes little-endian header length, header, data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "io/file.h"
#include "tensor/tensor.h"

namespace dashlm {

// One entry of a file.
struct SafetensorsEntry {
  DType dtype = DType::f32;
  Shape shape;
  int64_t offset = 0;  // bytes from the start of the file
  int64_t bytes = 0;
};

class SafetensorsReader {
 public:
  // Reads and checks the header: ranges inside the file, sizes that fit shapes, no overlaps, and,
  // as the format demands, no bytes that belong to no tensor. Throws a bad_input Error that names
  // the file and the tensor.
  explicit SafetensorsReader(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // Throws, naming file, tensor and both shapes, unless the file holds `name` with this type and
  // shape. `host` receives the elements.
  void read(const std::string& name, DType dtype, const Shape& shape, void* host) const;
  // Any floating-point entry, converted to float; the order is that of the file.
  std::vector<float> read_f32(const std::string& name) const;

 private:
  const SafetensorsEntry& find(const std::string& name) const;

  FileReader file_;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

// One tensor to be written: host memory that must live until write_safetensors() returns, or a
// function that puts the elements into the buffer it is given, so that only the largest such tensor
// needs memory.
struct SafetensorsItem {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::variant<const void*, std::function<void(void*)>> data;
};

// Writes header and data in the order given. The data begins at a multiple of 64 bytes.
void write_safetensors(FileWriter& file, const std::vector<SafetensorsItem>& items,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace dashlm
