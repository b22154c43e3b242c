#include "data/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "io/file.h"

namespace dashlm {
namespace {

constexpr int64_t kBufferBytes = int64_t{1} << 18;

class PlainFile final : public ByteSource {
 public:
  explicit PlainFile(const std::string& path) : file_(path) {}

  int64_t read(char* out, int64_t bytes) override {
    bytes = std::min(bytes, file_.bytes() - offset_);
    file_.read_at(offset_, out, bytes);
    offset_ += bytes;
    return bytes;
  }
  void rewind() { offset_ = 0; }

 private:
  FileReader file_;
  int64_t offset_ = 0;
};

class GzipFile final : public ByteSource {
 public:
  GzipFile(const std::string& path, std::unique_ptr<PlainFile> file)
      : path_(path), file_(std::move(file)), input_(static_cast<size_t>(kBufferBytes)) {
    // 15 bits of window; + 16 asks for a gzip header and trailer, whose CRC is checked.
    if (::inflateInit2(&stream_, 15 + 16) != Z_OK) fail_runtime("cannot start zlib for {}", path);
  }
  ~GzipFile() override { ::inflateEnd(&stream_); }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  int64_t read(char* out, int64_t bytes) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(bytes);
    while (stream_.avail_out == static_cast<uInt>(bytes)) {
      if (stream_.avail_in == 0 && !fill()) {
        require(!in_member_, "{} is cut short: the gzip data ends at byte {} within a member",
                path_, offset());
        return 0;
      }
      if (!in_member_) skip_zeros();
      if (stream_.avail_in > 0) inflate_some();
    }
    return bytes - stream_.avail_out;
  }

 private:
  bool fill() {
    const int64_t got = file_->read(reinterpret_cast<char*>(input_.data()), kBufferBytes);
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<uInt>(got);
    read_ += got;
    return got > 0;
  }

  // No member begins with a zero.
  void skip_zeros() {
    while (stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
  }

  void inflate_some() {
    if (!in_member_) ::inflateReset(&stream_);
    in_member_ = true;
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) in_member_ = false;
    require(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR,
            "{} is corrupt near byte {} of the gzip data: {}", path_, offset(),
            stream_.msg ? stream_.msg : "unknown error");
  }

  int64_t offset() const { return read_ - stream_.avail_in; }

  std::string path_;
  std::unique_ptr<PlainFile> file_;
  std::vector<Bytef> input_;
  z_stream stream_ = {};
  int64_t read_ = 0;        // packed bytes read from the file
  bool in_member_ = false;  // a member has begun and not ended
};

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  auto file = std::make_unique<PlainFile>(path);
  char magic[2] = {};
  const int64_t got = file->read(magic, 2);
  file->rewind();
  if (got == 2 && magic[0] == '\x1f' && magic[1] == '\x8b') {
    return std::make_unique<GzipFile>(path, std::move(file));
  }
  require(!path.ends_with(".gz"), "{} is named .gz but is not gzip data", path);
  return file;
}

LineReader::LineReader(const std::string& path) : source_(open_bytes(path)) {}

bool LineReader::fill() {
  buffer_.erase(0, used_);
  used_ = 0;
  const size_t old = buffer_.size();
  buffer_.resize(old + static_cast<size_t>(kBufferBytes));
  const int64_t got = source_->read(buffer_.data() + old, kBufferBytes);
  buffer_.resize(old + static_cast<size_t>(got));
  return got > 0;
}

bool LineReader::next(std::string& line) {
  constexpr auto kMost = static_cast<size_t>(kMaxLineBytes);
  line.clear();
  too_long_ = false;
  if (used_ == buffer_.size() && !fill()) return false;
  size_t newline = std::string::npos;
  do {
    newline = buffer_.find('\n', used_);
    const size_t end = std::min(newline, buffer_.size());
    const size_t taken = std::min(end - used_, kMost - line.size());
    too_long_ = too_long_ || taken < end - used_;
    line.append(buffer_, used_, taken);
    used_ = end;
  } while (newline == std::string::npos && fill());
  if (newline != std::string::npos) ++used_;
  ++line_;
  return true;
}

std::string read_up_to(const std::string& path, int64_t most) {
  const auto source = open_bytes(path);
  std::string text;
  int64_t got = 0;
  do {
    const size_t old = text.size();
    text.resize(old + static_cast<size_t>(kBufferBytes));
    got = source->read(text.data() + old, kBufferBytes);
    text.resize(old + static_cast<size_t>(got));
  } while (got > 0 && std::ssize(text) <= most);
  return text;
}

}  // namespace dashlm
