// The one thread of this process that calls MPI.
//
// Tasks run one after the other. This thread moves messages along while the others compute, even if
// MPI makes no progress by itself. MPI_THREAD_FUNNELED is enough for it.
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "dist/mpi/peers.h"

namespace dashlm {

class MpiThread {
 public:
  // Initialises MPI.
  MpiThread();
  // Finalises MPI once all tasks are through; every rank must get here.
  ~MpiThread();
  MpiThread(const MpiThread&) = delete;
  MpiThread& operator=(const MpiThread&) = delete;

  using Task = std::function<void()>;
  // Runs `task` after the earlier tasks. The future may be waited for any number of times.
  std::shared_future<void> submit(Task task);
  // Waits for `result`. Meanwhile messages are moved without pause.
  void wait(const std::shared_future<void>& result);

  // For tasks: returns when `request` is complete.
  void complete(MPI_Request& request);
  // For tasks: names the processes to watch, also while there is nothing to do. The death of one
  // ends all ranks. (A GPU that waits for a dead rank's message would wait for ever.)
  void watch(Peers peers) { peers_ = std::move(peers); }
  // The processes that watch() was given. Call it only after watch() has returned.
  const Peers& peers() const { return peers_; }

  // Ends all ranks. May be called from any thread, even while a task waits. Returns if MPI fails to
  // end them.
  void abort(ExitCode exit_code);

 private:
  void run();
  // The next task; false once there will be none.
  bool next_task(std::packaged_task<void()>& task);
  void look_after_peers();
  void abort_if_asked();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool stop_ = false;
  std::atomic<int> waiting_ = 0;      // threads in wait()
  std::atomic<int> abort_code_ = -1;  // of abort()
  Peers peers_;
  std::thread thread_;
};

}  // namespace dashlm
