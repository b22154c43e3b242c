#include "io/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/error.h"

namespace dashlm {
namespace {

// One system call moves at most 2 GiB, and one call of zlib's crc32 takes at most 4 GiB. Smaller
// pieces stay in the cache between the checksum and the copy to the kernel, which is faster.
constexpr int64_t kPiece = int64_t{1} << 20;

// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// A hidden name beside the target, since a rename must not cross file systems. It differs from the
// names of all writers in this process; O_EXCL tells it apart from other processes' names.
std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  const std::string file = std::filesystem::path(path).filename().string();
  return fmt::format("{}/.{}.{}-{}.tmp", folder_of(path), file, ::getpid(), counter++);
}

}  // namespace

FileWriter::FileWriter(std::string path) : path_(std::move(path)) {
  do {
    temporary_ = temporary_name(path_);
    file_ = uninterrupted(
        [&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
  } while (file_ < 0 && errno == EEXIST);
  if (file_ < 0) fail("create");
}

FileWriter::~FileWriter() {
  discard();
}

void FileWriter::discard() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
  file_ = -1;
}

void FileWriter::fail(const char* what) {
  const int error = errno;
  discard();
  fail_runtime("cannot {} '{}': {}", what, path_, std::strerror(error));
}

void FileWriter::write(const void* data, int64_t bytes) {
  if (file_ < 0) fail_runtime("'{}' was written to after it was committed or failed", path_);
  const char* next = static_cast<const char*>(data);
  for (int64_t left = bytes; left > 0;) {
    const int64_t piece = std::min(left, kPiece);
    const ssize_t written =
        uninterrupted([&] { return ::write(file_, next, static_cast<size_t>(piece)); });
    if (written < 0) fail("write");
    crc_ = crc32_of_bytes(next, written, crc_);
    bytes_ += written;
    next += written;
    left -= written;
  }
}

void FileWriter::commit() {
  if (file_ < 0) fail_runtime("'{}' was committed twice or after a failure", path_);
  if (uninterrupted([&] { return ::fsync(file_); }) < 0) fail("flush");
  if (::rename(temporary_.c_str(), path_.c_str()) < 0) fail("move a finished file to");
  // Errors are ignored here: fsync has reported every failure that matters.
  ::close(file_);
  file_ = -1;
  sync_directory(folder_of(path_));
}

FileReader::FileReader(std::string path) : path_(std::move(path)) {
  file_ = uninterrupted([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (file_ < 0) fail_input("cannot read '{}': {}", path_, std::strerror(errno));
  struct stat status = {};
  const bool known = ::fstat(file_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(file_);
    fail_input("cannot read '{}': it is not a regular file", path_);
  }
  bytes_ = status.st_size;
}

FileReader::~FileReader() {
  ::close(file_);
}

void FileReader::read_at(int64_t offset, void* to, int64_t bytes) const {
  constexpr int64_t kMostAtOnce = int64_t{1} << 30;
  char* next = static_cast<char*>(to);
  for (int64_t done = 0; done < bytes;) {
    const auto piece = static_cast<size_t>(std::min(bytes - done, kMostAtOnce));
    const ssize_t got =
        uninterrupted([&] { return ::pread(file_, next + done, piece, offset + done); });
    if (got < 0) fail_input("cannot read '{}': {}", path_, std::strerror(errno));
    require(got > 0, "'{}' ends at byte {}, but {} bytes from byte {} on were expected", path_,
            offset + done, bytes, offset);
    done += got;
  }
}

bool path_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

void write_text_file(const std::string& path, const std::string& text) {
  FileWriter file(path);
  file.write(text.data(), static_cast<int64_t>(text.size()));
  file.commit();
}

std::string read_text_file(const std::string& path) {
  const FileReader file(path);
  std::string text(static_cast<size_t>(file.bytes()), '\0');
  file.read_at(0, text.data(), file.bytes());
  return text;
}

uint32_t crc32_of_file(const std::string& path) {
  const FileReader file(path);
  std::vector<char> buffer(static_cast<size_t>(std::min(file.bytes(), kPiece)));
  uint32_t crc = 0;
  for (int64_t offset = 0; offset < file.bytes(); offset += kPiece) {
    const int64_t piece = std::min(file.bytes() - offset, kPiece);
    file.read_at(offset, buffer.data(), piece);
    crc = crc32_of_bytes(buffer.data(), piece, crc);
  }
  return crc;
}

uint32_t crc32_of_bytes(const void* data, int64_t bytes, uint32_t crc) {
  const Bytef* next = static_cast<const Bytef*>(data);
  uLong sum = crc;
  while (bytes > 0) {  // zlib counts in 32 bits
    const int64_t piece = std::min(bytes, int64_t{1} << 30);
    sum = ::crc32(sum, next, static_cast<uInt>(piece));
    next += piece;
    bytes -= piece;
  }
  return static_cast<uint32_t>(sum);
}

void sync_directory(const std::string& path) {
  const int directory =
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (directory < 0) fail_runtime("cannot open directory '{}': {}", path, std::strerror(errno));
  const int result = uninterrupted([&] { return ::fsync(directory); });
  const int error = errno;
  ::close(directory);
  // Some network file systems have no flush for directories, nor need one.
  if (result < 0 && error != EINVAL && error != EROFS && error != ENOTSUP) {
    fail_runtime("cannot flush directory '{}': {}", path, std::strerror(error));
  }
}

DirectoryLock::DirectoryLock(const std::string& path)
    : directory_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (directory_ < 0) fail_runtime("cannot open directory '{}': {}", path, std::strerror(errno));
  if (::flock(directory_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(directory_);
    fail_input("another process is working in '{}'; wait for it or choose another directory", path);
  }
}

DirectoryLock::~DirectoryLock() {
  ::close(directory_);
}

}  // namespace dashlm
