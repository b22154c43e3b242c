// What dashlm needs of NCCL: messages between processes of one machine, in groups. They go through
// sockets between each two ranks, in the abstract namespace, of which nothing is left when the
// processes have ended. Messages have arrived before ncclGroupEnd returns, and nothing is waited
// for longer than kPatience. Like everything of this layer it insists on what the library may rely
// on: pointers to allocations that hold the messages, and that both sides agree about their sizes.
#include <nccl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "host_cuda/memory.h"

struct ncclComm {
  int rank = 0;
  std::vector<int> sockets;  // to each other rank; -1 to itself
  ~ncclComm() {
    for (const int socket : sockets) {
      if (socket >= 0) ::close(socket);
    }
  }
};

namespace dashlm::host_cuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience(100);

std::string last_error;

ncclResult_t failed(ncclResult_t result, const std::string& message) {
  last_error = message;
  return result;
}

ncclResult_t system_error(const char* call) {
  return failed(ncclSystemError, std::string(call) + ": " + std::strerror(errno));
}

// Meeting. The higher rank of two knocks; the lower one listens.

struct Greeting {
  int rank, size;
};

struct Address {
  sockaddr_un name = {};
  socklen_t length = 0;
};

// Of `rank` among those who share the id. A first character of zero means the abstract namespace.
Address address_of(const ncclUniqueId& id, int rank) {
  Address address;
  address.name.sun_family = AF_UNIX;
  const int length = std::snprintf(address.name.sun_path + 1, sizeof address.name.sun_path - 1,
                                   "dashlm-host-nccl-%.60s-%d", id.internal, rank);
  address.length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
  return address;
}

class Socket {
 public:
  Socket() : Socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  explicit Socket(int number) : number_(number) {}
  ~Socket() {
    if (number_ >= 0) ::close(number_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

// Whether there is something to be read before the deadline.
bool readable(int socket, Clock::time_point deadline) {
  while (Clock::now() < deadline) {
    pollfd wait = {socket, POLLIN, 0};
    if (::poll(&wait, 1, 1000) > 0) return true;
  }
  return false;
}

ncclResult_t knock(ncclComm& comm, const ncclUniqueId& id, int other, Clock::time_point deadline) {
  const Address address = address_of(id, other);
  while (true) {
    Socket socket;
    if (socket.number() < 0) return system_error("socket");
    if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address.name),
                  address.length) == 0) {
      const Greeting greeting = {comm.rank, static_cast<int>(comm.sockets.size())};
      if (::send(socket.number(), &greeting, sizeof greeting, MSG_NOSIGNAL) != sizeof greeting) {
        return system_error("send");
      }
      comm.sockets[static_cast<size_t>(other)] = socket.release();
      return ncclSuccess;
    }
    if (errno != ECONNREFUSED && errno != EINTR && errno != EAGAIN) return system_error("connect");
    if (Clock::now() > deadline) {
      return failed(ncclSystemError, "rank " + std::to_string(other) + " does not answer");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

ncclResult_t let_in(ncclComm& comm, int listener, Clock::time_point deadline) {
  if (!readable(listener, deadline)) return failed(ncclSystemError, "higher ranks stay away");
  Socket socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.number() < 0) return system_error("accept");
  Greeting greeting = {};
  if (!readable(socket.number(), deadline) ||
      ::recv(socket.number(), &greeting, sizeof greeting, MSG_WAITALL) != sizeof greeting) {
    return failed(ncclRemoteError, "a rank left without a greeting");
  }
  const auto size = static_cast<int>(comm.sockets.size());
  if (greeting.size != size || greeting.rank <= comm.rank || greeting.rank >= size ||
      comm.sockets[static_cast<size_t>(greeting.rank)] >= 0) {
    return failed(ncclInvalidUsage, "ranks disagree about who they are");
  }
  comm.sockets[static_cast<size_t>(greeting.rank)] = socket.release();
  return ncclSuccess;
}

ncclResult_t meet(ncclComm& comm, const ncclUniqueId& id) {
  const auto deadline = Clock::now() + kPatience;
  const auto size = static_cast<int>(comm.sockets.size());
  const Address own = address_of(id, comm.rank);
  const Socket listener;
  if (::bind(listener.number(), reinterpret_cast<const sockaddr*>(&own.name), own.length) != 0) {
    return system_error("bind");
  }
  if (::listen(listener.number(), size) != 0) return system_error("listen");
  ncclResult_t result = ncclSuccess;
  for (int other = 0; other < comm.rank && result == ncclSuccess; ++other) {
    result = knock(comm, id, other, deadline);
  }
  for (int other = comm.rank + 1; other < size && result == ncclSuccess; ++other) {
    result = let_in(comm, listener.number(), deadline);
  }
  return result;
}

// Messages.

struct Header {
  uint64_t bytes;
  int64_t type;
  bool operator==(const Header&) const = default;
};

struct Message {
  ncclComm* comm;
  int peer;
  bool outgoing;
  char* data;
  Header header;      // what goes out, or what is to come
  Header seen = {};   // what came
  uint64_t done = 0;  // bytes, of the header and then the data

  bool complete() const { return done == sizeof header + header.bytes; }
  int socket() const { return comm->sockets[static_cast<size_t>(peer)]; }
};

// Moves what can be moved without waiting.
ncclResult_t advance(Message& message) {
  while (!message.complete()) {
    const bool in_header = message.done < sizeof(Header);
    char* header = reinterpret_cast<char*>(message.outgoing ? &message.header : &message.seen);
    char* at = in_header ? header + message.done : message.data + (message.done - sizeof(Header));
    const uint64_t end = in_header ? sizeof(Header) : sizeof(Header) + message.header.bytes;
    const size_t bytes = end - message.done;
    const ssize_t moved = message.outgoing
                              ? ::send(message.socket(), at, bytes, MSG_DONTWAIT | MSG_NOSIGNAL)
                              : ::recv(message.socket(), at, bytes, MSG_DONTWAIT);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return ncclSuccess;
    if (moved <= 0) {
      return failed(ncclRemoteError, "rank " + std::to_string(message.peer) + " is gone");
    }
    message.done += static_cast<uint64_t>(moved);
    if (!message.outgoing && message.done == sizeof(Header) && message.seen != message.header) {
      return failed(ncclInvalidUsage, "rank " + std::to_string(message.peer) + " sends " +
                                          std::to_string(message.seen.bytes) + " bytes where " +
                                          std::to_string(message.header.bytes) + " are expected");
    }
  }
  return ncclSuccess;
}

// Messages between the same two ranks go one after the other, all others side by side.
ncclResult_t move_all(std::vector<Message>& messages) {
  const auto deadline = Clock::now() + kPatience;
  while (true) {
    std::vector<pollfd> waits;
    std::set<std::tuple<ncclComm*, int, bool>> busy;
    for (Message& message : messages) {
      const std::tuple way(message.comm, message.peer, message.outgoing);
      if (message.complete() || busy.contains(way)) continue;
      const ncclResult_t result = advance(message);
      if (result != ncclSuccess) return result;
      if (message.complete()) continue;
      busy.insert(way);
      const short what = message.outgoing ? POLLOUT : POLLIN;
      waits.push_back({message.socket(), what, 0});
    }
    if (waits.empty()) return ncclSuccess;
    if (Clock::now() > deadline) return failed(ncclSystemError, "other ranks do not turn up");
    ::poll(waits.data(), waits.size(), 1000);
  }
}

// Of the thread, as in NCCL.
struct Group {
  int depth = 0;
  ncclResult_t failure = ncclSuccess;  // of a call within
  std::vector<Message> messages;
};
thread_local Group group;

size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    default:
      return 0;
  }
}

ncclResult_t check_message(const void* data, size_t count, ncclDataType_t type, int peer,
                           const ncclComm* comm, cudaStream_t stream) {
  if (comm == nullptr) return failed(ncclInvalidArgument, "no communicator");
  if (peer < 0 || peer >= static_cast<int>(comm->sockets.size()) || peer == comm->rank) {
    return failed(ncclInvalidArgument, "rank " + std::to_string(peer) + " is none of the others");
  }
  if (size_of(type) == 0) return failed(ncclInvalidArgument, "unknown type");
  if (!on_device(data, count * size_of(type))) {
    return failed(ncclInvalidArgument, "a message lies outside of allocations");
  }
  if (cudaStreamQuery(stream) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return failed(ncclUnhandledCudaError, "no stream");
  }
  return ncclSuccess;
}

ncclResult_t post(bool outgoing, void* data, size_t count, ncclDataType_t type, int peer,
                  ncclComm* comm, cudaStream_t stream) {
  const ncclResult_t result = check_message(data, count, type, peer, comm, stream);
  if (result != ncclSuccess) {
    if (group.depth > 0) group.failure = result;
    return result;
  }
  ncclGroupStart();
  group.messages.push_back(
      {comm, peer, outgoing, static_cast<char*>(data), Header{count * size_of(type), type}});
  return ncclGroupEnd();
}

}  // namespace
}  // namespace dashlm::host_cuda

using namespace dashlm::host_cuda;

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int count = 0;
  *id = {};
  std::snprintf(id->internal, sizeof id->internal, "%d-%lld-%d", static_cast<int>(::getpid()),
                static_cast<long long>(Clock::now().time_since_epoch().count()), count++);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  *comm = nullptr;
  if (size < 1 || rank < 0 || rank >= size) return failed(ncclInvalidArgument, "no such rank");
  auto* made =
      new ncclComm{.rank = rank, .sockets = std::vector<int>(static_cast<size_t>(size), -1)};
  const ncclResult_t result = meet(*made, id);
  if (result != ncclSuccess) {
    delete made;
    return result;
  }
  *comm = made;
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}

// Others do not notice, as is so between GPUs of one machine: the sockets live as long as the
// process.
ncclResult_t ncclCommAbort(ncclComm_t) {
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = ncclSuccess;
  return comm != nullptr ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return post(true, const_cast<void*>(data), count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return post(false, data, count, type, peer, comm, stream);
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return failed(ncclInvalidUsage, "no group is open");
  if (--group.depth > 0) return ncclSuccess;
  Group ended;
  std::swap(ended, group);
  return ended.failure != ncclSuccess ? ended.failure : move_all(ended.messages);
}

const char* ncclGetLastError(ncclComm_t) {
  return last_error.c_str();
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclSystemError:
      return "unhandled system error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "unknown result code";
  }
}
