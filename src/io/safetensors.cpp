#include "io/safetensors.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/open_objects.h"

namespace dashlm {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr int64_t kMaxHeader = 100'000'000;  // the reference implementation's bound
constexpr int64_t kAlignment = 64;
constexpr int64_t kLengthBytes = 8;
constexpr const char* kMetadata = "__metadata__";

constexpr std::pair<DType, const char*> kTypes[] = {{DType::f64, "F64"},   {DType::f32, "F32"},
                                                    {DType::bf16, "BF16"}, {DType::f16, "F16"},
                                                    {DType::i32, "I32"},   {DType::u8, "U8"}};

const char* format_name(DType type) {
  for (const auto& [candidate, name] : kTypes) {
    if (candidate == type) return name;
  }
  fail_runtime("safetensors: no name for element type {}", name_of(type));
}

// --- reading the header ------------------------------------------------------------------------

// Turns the header of one file into entries; `where` names file and tensor in errors.
class HeaderParser {
 public:
  HeaderParser(const std::string& path, int64_t data_begin, int64_t file_bytes)
      : path_(path), data_begin_(data_begin), data_bytes_(file_bytes - data_begin) {}

  Json parse(const std::string& text) const {
    OpenObjects open;
    const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
      require(depth <= 3, "'{}': the safetensors header is nested too deeply", path_);
      require(open.accept(event, value),
              "'{}': tensor or key {} occurs twice in the safetensors header", path_, value.dump());
      return true;
    };
    try {
      return Json::parse(text, check);
    } catch (const Json::exception& e) {
      fail_input("'{}': the safetensors header is not valid JSON: {}", path_, e.what());
    }
  }

  SafetensorsEntry entry(const std::string& name, const Json& json) const {
    const std::string where = fmt::format("'{}': tensor \"{}\"", path_, name);
    require(json.is_object() && json.contains("dtype") && json.contains("shape") &&
                json.contains("data_offsets"),
            "{} must have dtype, shape and data_offsets, not {}", where, json.dump());
    SafetensorsEntry entry;
    entry.dtype = dtype(where, json["dtype"]);
    entry.shape = shape(where, json["shape"]);
    entry.bytes = entry.shape.elements() * size_of(entry.dtype);

    const Json& range = json["data_offsets"];
    require(range.is_array() && range.size() == 2, "{}: data_offsets must be two numbers, not {}",
            where, range.dump());
    const int64_t begin = whole(where, "data_offsets", range[0]);
    const int64_t end = whole(where, "data_offsets", range[1]);
    require(
        begin <= end && end <= data_bytes_,
        "{}: data_offsets {} to {} lie outside the file's {} bytes of data; the file may be cut "
        "off",
        where, begin, end, data_bytes_);
    require(end - begin == entry.bytes, "{}: {} {} takes {} bytes, but data_offsets span {}", where,
            format_name(entry.dtype), entry.shape.text(), entry.bytes, end - begin);
    entry.offset = data_begin_ + begin;
    return entry;
  }

  // The data must be exactly the tensors, one after the other.
  void check_layout(const std::map<std::string, SafetensorsEntry>& entries) const {
    std::vector<std::pair<const std::string*, const SafetensorsEntry*>> order;
    for (const auto& [name, entry] : entries) order.emplace_back(&name, &entry);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second->offset, a.second->bytes) <
             std::pair(b.second->offset, b.second->bytes);
    });
    int64_t end = data_begin_;
    const std::string* before = nullptr;
    for (const auto& [name, entry] : order) {
      require(entry->offset >= end, "'{}': tensors \"{}\" and \"{}\" overlap", path_,
              before ? *before : "", *name);
      require(entry->offset == end, "'{}': {} bytes before tensor \"{}\" belong to no tensor",
              path_, entry->offset - end, *name);
      end += entry->bytes;
      before = name;
    }
    const int64_t rest = data_begin_ + data_bytes_ - end;
    require(rest == 0, "'{}': {} bytes at the end belong to no tensor", path_, rest);
  }

 private:
  DType dtype(const std::string& where, const Json& json) const {
    std::vector<std::string> known;
    for (const auto& [type, name] : kTypes) {
      if (json == name) return type;
      known.emplace_back(name);
    }
    fail_input("{} has dtype {}, but only {} can be read", where, json.dump(),
               fmt::join(known, ", "));
  }

  Shape shape(const std::string& where, const Json& json) const {
    require(json.is_array(), "{}: shape must be a list, not {}", where, json.dump());
    require(json.size() <= Shape::kMaxRank, "{} has {} dimensions, but at most {} can be read",
            where, json.size(), static_cast<int>(Shape::kMaxRank));
    Shape shape;
    int64_t most = std::numeric_limits<int64_t>::max() / 8;  // elements that may still be counted
    for (const Json& item : json) {
      const int64_t dim = whole(where, "shape", item);
      require(dim <= most, "{}: shape {} has too many elements", where, json.dump());
      if (dim > 0) most /= dim;
      shape.append(dim);
    }
    return shape;
  }

  int64_t whole(const std::string& where, const char* key, const Json& json) const {
    require(json.is_number_unsigned() &&
                json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()},
            "{}: {} must hold whole numbers, not {}", where, key, json.dump());
    return json.get<int64_t>();
  }

  const std::string& path_;
  int64_t data_begin_;
  int64_t data_bytes_;
};

std::string read_header(const FileReader& file) {
  uint64_t length = 0;
  require(
      file.bytes() >= kLengthBytes,
      "'{}' is not a safetensors file: it has only {} bytes, fewer than the header length takes",
      file.path(), file.bytes());
  file.read_at(0, &length, kLengthBytes);
  require(length <= uint64_t{kMaxHeader},
          "'{}' is not a safetensors file: its header would have {} bytes, more than {}",
          file.path(), length, kMaxHeader);
  require(static_cast<int64_t>(length) <= file.bytes() - kLengthBytes,
          "'{}' is cut off: its header has {} bytes, but the file only {}", file.path(), length,
          file.bytes());
  std::string text(length, '\0');
  file.read_at(kLengthBytes, text.data(), static_cast<int64_t>(length));
  require(!text.empty() && text[0] == '{',
          "'{}' is not a safetensors file: its header does not begin with '{{'", file.path());
  return text;
}

// --- conversion to float -----------------------------------------------------------------------

float from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// IEEE 754 half precision, subnormals, infinities and NaNs included.
float from_f16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu;
  const uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {  // mantissa * 2^-24, exact in float
    const float value = static_cast<float>(mantissa) * 0x1.0p-24f;
    return sign ? -value : value;
  }
  const uint32_t wide = exponent == 0x1F ? 0xFFu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

template <class Stored, class Convert>
void convert(const FileReader& file, const SafetensorsEntry& entry, std::vector<float>& values,
             const Convert& to_float) {
  constexpr int64_t kPiece = int64_t{1} << 20;  // elements
  const auto elements = static_cast<int64_t>(values.size());
  std::vector<Stored> buffer(static_cast<size_t>(std::min(elements, kPiece)));
  for (int64_t begin = 0; begin < elements; begin += kPiece) {
    const int64_t count = std::min(elements - begin, kPiece);
    constexpr auto kSize = static_cast<int64_t>(sizeof(Stored));
    file.read_at(entry.offset + begin * kSize, buffer.data(), count * kSize);
    std::transform(buffer.begin(), buffer.begin() + count, values.begin() + begin, to_float);
  }
}

// --- writing -----------------------------------------------------------------------------------

int64_t bytes_of(const SafetensorsItem& item) {
  return item.shape.elements() * size_of(item.dtype);
}

// The header is put together as text, since a Json object would sort the tensors.
std::string header_text(const std::string& path, const std::vector<SafetensorsItem>& items,
                        const std::map<std::string, std::string>& metadata) {
  std::string text = "{";
  if (!metadata.empty()) text += fmt::format("\"{}\":{}", kMetadata, Json(metadata).dump());
  std::set<std::string> taken = {kMetadata};
  int64_t offset = 0;
  for (const SafetensorsItem& item : items) {
    if (!taken.insert(item.name).second) {
      fail_runtime("'{}': tensor name \"{}\" is taken", path, item.name);
    }
    std::vector<int64_t> shape;
    for (int i = 0; i < item.shape.rank(); ++i) shape.push_back(item.shape[i]);
    text += fmt::format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        text.size() > 1 ? "," : "", Json(item.name).dump(), format_name(item.dtype),
                        fmt::join(shape, ","), offset, offset + bytes_of(item));
    offset += bytes_of(item);
  }
  text += "}";
  const auto unpadded = kLengthBytes + static_cast<int64_t>(text.size());
  text.append(static_cast<size_t>((kAlignment - unpadded % kAlignment) % kAlignment), ' ');
  if (static_cast<int64_t>(text.size()) > kMaxHeader) {
    fail_runtime("'{}': a header of {} bytes exceeds the format's {}", path, text.size(),
                 kMaxHeader);
  }
  return text;
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::string& path) : file_(path) {
  const std::string text = read_header(file_);
  const HeaderParser parser(path, kLengthBytes + static_cast<int64_t>(text.size()), file_.bytes());
  const Json header = parser.parse(text);
  for (const auto& [name, json] : header.items()) {
    if (name != kMetadata) {
      entries_[name] = parser.entry(name, json);
      continue;
    }
    require(json.is_object(), "'{}': {} must be an object, not {}", path, kMetadata, json.dump());
    for (const auto& [key, value] : json.items()) {
      require(value.is_string(), "'{}': {}.{} must be a string, not {}", path, kMetadata, key,
              value.dump());
      metadata_[key] = value.get<std::string>();
    }
  }
  parser.check_layout(entries_);
}

const SafetensorsEntry& SafetensorsReader::find(const std::string& name) const {
  const auto found = entries_.find(name);
  require(found != entries_.end(), "'{}' holds no tensor \"{}\"", path(), name);
  return found->second;
}

void SafetensorsReader::read(const std::string& name, DType dtype, const Shape& shape,
                             void* host) const {
  const SafetensorsEntry& entry = find(name);
  require(entry.dtype == dtype && entry.shape == shape,
          "'{}': tensor \"{}\" is {} {}, but {} {} is needed", path(), name, name_of(entry.dtype),
          entry.shape.text(), name_of(dtype), shape.text());
  file_.read_at(entry.offset, host, entry.bytes);
}

std::vector<float> SafetensorsReader::read_f32(const std::string& name) const {
  const SafetensorsEntry& entry = find(name);
  std::vector<float> values(static_cast<size_t>(entry.shape.elements()));
  switch (entry.dtype) {
    case DType::f32:
      file_.read_at(entry.offset, values.data(), entry.bytes);
      break;
    case DType::f64:
      convert<double>(file_, entry, values, [](double x) { return static_cast<float>(x); });
      break;
    case DType::bf16:
      convert<uint16_t>(file_, entry, values, from_bf16);
      break;
    case DType::f16:
      convert<uint16_t>(file_, entry, values, from_f16);
      break;
    case DType::i32:
    case DType::i64:
    case DType::u8:
      fail_input("'{}': tensor \"{}\" is {}, but floating-point numbers are needed", path(), name,
                 name_of(entry.dtype));
  }
  return values;
}

void write_safetensors(FileWriter& file, const std::vector<SafetensorsItem>& items,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_text(file.path(), items, metadata);
  const uint64_t length = header.size();
  file.write(&length, kLengthBytes);
  file.write(header.data(), static_cast<int64_t>(header.size()));
  std::vector<char> buffer;
  for (const SafetensorsItem& item : items) {
    if (const auto* host = std::get_if<const void*>(&item.data)) {
      file.write(*host, bytes_of(item));
    } else {
      buffer.resize(std::max(buffer.size(), static_cast<size_t>(bytes_of(item))));
      std::get<std::function<void(void*)>>(item.data)(buffer.data());
      file.write(buffer.data(), bytes_of(item));
    }
  }
}

}  // namespace dashlm
