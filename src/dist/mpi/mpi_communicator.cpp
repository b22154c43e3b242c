#include "dist/mpi/mpi_communicator.h"

#include <unistd.h>

#include <limits>
#include <numeric>

namespace dashlm {
namespace {

int to_int(int64_t count) {
  if (count > std::numeric_limits<int>::max()) {
    fail_runtime("MPI cannot move {} elements at once; choose smaller buckets", count);
  }
  return static_cast<int>(count);
}

std::vector<int> to_ints(std::span<const int64_t> counts) {
  std::vector<int> result;
  for (const int64_t count : counts) result.push_back(to_int(count));
  return result;
}

// The offsets of consecutive pieces with these counts.
std::vector<int> begins(const std::vector<int>& counts) {
  std::vector<int> result(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), result.begin(), 0);
  return result;
}

// For copies; MPI knows no bf16.
MPI_Datatype type_of(const Tensor& tensor) {
  return size_of(tensor.dtype) == 2 ? MPI_UINT16_T : MPI_FLOAT;
}

// sum = pieces 0 to size-1 of `pieces`, each of `count` elements, in this order.
void add_up(float* sum, const float* pieces, int64_t count, int size) {
  constexpr int64_t kStrip = 4096;  // this part of `sum` stays in cache
  for (int64_t begin = 0; begin < count; begin += kStrip) {
    const int64_t end = std::min(count, begin + kStrip);
    for (int64_t i = begin; i < end; ++i) sum[i] = pieces[i];
    for (int piece = 1; piece < size; ++piece) {
      const float* addend = pieces + piece * count;
      for (int64_t i = begin; i < end; ++i) sum[i] += addend[i];
    }
  }
}

}  // namespace

class MpiCommunicator::Task final : public Work::State {
 public:
  Task(MpiThread& thread, std::shared_future<void> result)
      : thread_(thread), result_(std::move(result)) {}
  void wait() override { thread_.wait(result_); }

 private:
  MpiThread& thread_;
  std::shared_future<void> result_;
};

Work MpiCommunicator::submit(MpiThread::Task task) {
  return Work(std::make_shared<Task>(thread_, thread_.submit(std::move(task))));
}

MpiCommunicator::MpiCommunicator() {
  submit([this] { look_around(); }).wait();
}

void MpiCommunicator::look_around() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local_rank_);
  MPI_Comm_size(node, &local_size_);
  // In different containers the same number stands for different processes.
  const int own_numbers = Peers::process_namespace();
  const int self[3] = {rank_, static_cast<int>(::getpid()), own_numbers};
  std::vector<int> all(3 * static_cast<size_t>(local_size_));
  MPI_Allgather(self, 3, MPI_INT, all.data(), 3, MPI_INT, node);
  MPI_Comm_free(&node);
  std::vector<Peers::Peer> peers;
  for (size_t i = 0; i < all.size(); i += 3) {
    if (all[i + 2] == own_numbers) peers.push_back({all[i], all[i + 1]});
  }
  thread_.watch(Peers(peers));
}

std::string MpiCommunicator::library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string version(text, static_cast<size_t>(length));
  return version.substr(0, version.find_first_of(",\n"));
}

std::string MpiCommunicator::description() const {
  return fmt::format("{} ranks, {} on this node, over {}", size_, local_size_, library());
}

Work MpiCommunicator::reduce_scatter(const Tensor& packed, const Tensor& sum,
                                     std::span<const int64_t> counts, const Tensor& scratch) {
  const Counts elements = check_reduce_scatter(packed, sum, counts, scratch);
  const int64_t own = elements.own, total = elements.total;
  count_sent((total - own) * size_of(packed.dtype));
  const std::vector<int> send_counts = to_ints(counts);
  to_int(total), to_int(own * size_);
  return submit([this, packed, sum, scratch, own, send_counts] {
    const std::vector<int> receive_counts(static_cast<size_t>(size_), static_cast<int>(own));
    const std::vector<int> send_begins = begins(send_counts),
                           receive_begins = begins(receive_counts);
    MPI_Request request;
    MPI_Ialltoallv(packed.data, send_counts.data(), send_begins.data(), MPI_FLOAT, scratch.data,
                   receive_counts.data(), receive_begins.data(), MPI_FLOAT, MPI_COMM_WORLD,
                   &request);
    thread_.complete(request);
    add_up(sum.f32(), scratch.f32(), own, size_);
  });
}

Work MpiCommunicator::all_gather(const Tensor& segment, const Tensor& packed,
                                 std::span<const int64_t> counts) {
  const auto [own, total] = check_all_gather(segment, packed, counts);
  count_sent(own * (size_ - 1) * size_of(segment.dtype));
  const std::vector<int> receive_counts = to_ints(counts);
  to_int(total);
  return submit([this, segment, packed, receive_counts] {
    const std::vector<int> receive_begins = begins(receive_counts);
    MPI_Request request;
    MPI_Iallgatherv(segment.data, receive_counts[static_cast<size_t>(rank_)], type_of(segment),
                    packed.data, receive_counts.data(), receive_begins.data(), type_of(packed),
                    MPI_COMM_WORLD, &request);
    thread_.complete(request);
  });
}

void MpiCommunicator::gather_bytes(const std::string& mine, std::string& all,
                                   std::vector<int>& sizes) {
  sizes.resize(static_cast<size_t>(size_));
  const int size = static_cast<int>(mine.size());
  MPI_Request request;
  MPI_Iallgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD, &request);
  thread_.complete(request);
  const std::vector<int> where = begins(sizes);
  all.resize(static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{0})));
  MPI_Iallgatherv(mine.data(), size, MPI_CHAR, all.data(), sizes.data(), where.data(), MPI_CHAR,
                  MPI_COMM_WORLD, &request);
  thread_.complete(request);
}

std::vector<std::string> MpiCommunicator::exchange(const std::string& bytes) {
  to_int(std::ssize(bytes) * size_);
  count_sent(std::ssize(bytes) * (size_ - 1));
  std::string all;
  std::vector<int> sizes;
  submit([&] { gather_bytes(bytes, all, sizes); }).wait();
  std::vector<std::string> parts;
  size_t begin = 0;
  for (const int size : sizes) {
    parts.push_back(all.substr(begin, static_cast<size_t>(size)));
    begin += static_cast<size_t>(size);
  }
  return parts;
}

}  // namespace dashlm
