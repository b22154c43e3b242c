// Machines on which writing fails: a full disk and missing rights.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace dashlm::testing {

// While it lives, no file of this process can grow beyond `bytes`: write() then fails half-way, as
// it does on a full disk (with EFBIG instead of ENOSPC).
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

// Root may write anywhere; while this lives, root acts as "nobody". Others need no change.
class WithoutRoot {
 public:
  WithoutRoot() : user_(geteuid()) { changed_ = user_ == 0 && seteuid(65534) == 0; }
  ~WithoutRoot() {
    if (changed_ && seteuid(user_) != 0) std::abort();
  }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  uid_t user_;
  bool changed_ = false;
};

}  // namespace dashlm::testing
