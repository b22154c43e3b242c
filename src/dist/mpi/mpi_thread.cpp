#include "dist/mpi/mpi_thread.h"

#include <chrono>
#include <cstdlib>

#include "base/log.h"
#include "base/timer.h"
#include "dist/mpi/user_namespace.h"

namespace dashlm {
namespace {

using std::chrono::microseconds;

constexpr std::chrono::seconds kBetweenChecks(1);  // of whether the other ranks are alive

// The pause between looks at a request. It is short while a thread waits for the request. Otherwise
// it grows, so that the processor is left to threads that compute.
microseconds pause_between_looks(bool waited_for, int64_t looks) {
  if (waited_for) return microseconds(looks < 100 ? 0 : looks < 2000 ? 20 : 200);
  return microseconds(looks < 10 ? 50 : 200);
}

// MPI_Abort asks the launcher to end all ranks. A launcher that is already ending them may not
// answer.
void end_job(int exit_code) {
  std::thread([exit_code] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::_Exit(exit_code);
  }).detach();
  MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace

MpiThread::MpiThread() : thread_([this] { run(); }) {
  wait(submit([] {
    choose_copies_between_ranks();
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED) {
      fail_runtime("this MPI does not allow threads beside the one that calls it");
    }
  }));
}

MpiThread::~MpiThread() {
  submit([] { MPI_Finalize(); });
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::shared_future<void> MpiThread::submit(Task task) {
  std::packaged_task<void()> packaged(std::move(task));
  std::shared_future<void> result = packaged.get_future().share();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(packaged));
  }
  changed_.notify_all();
  return result;
}

void MpiThread::wait(const std::shared_future<void>& result) {
  ++waiting_;
  result.wait();
  --waiting_;
  result.get();
}

bool MpiThread::next_task(std::packaged_task<void()>& task) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenChecks, [this] { return stop_ || !tasks_.empty(); })) {
    lock.unlock();
    look_after_peers();
    lock.lock();
  }
  if (tasks_.empty()) return false;
  task = std::move(tasks_.front());
  tasks_.pop_front();
  return true;
}

void MpiThread::run() {
  for (std::packaged_task<void()> task; next_task(task);) task();
}

void MpiThread::look_after_peers() {
  const std::string gone = peers_.gone();
  if (gone.empty()) return;
  // A launcher that notices the death by itself gets the time to end the job better.
  std::this_thread::sleep_for(std::chrono::seconds(2));
  spdlog::error("{} has ended without a word; giving up", gone);
  end_job(static_cast<int>(ExitCode::runtime_failure));
}

void MpiThread::complete(MPI_Request& request) {
  int done = 0;
  Timer since_check;
  for (int64_t looks = 0;; ++looks) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    abort_if_asked();
    if (since_check.seconds() > std::chrono::duration<double>(kBetweenChecks).count()) {
      look_after_peers();
      since_check.restart();
    }
    const microseconds pause = pause_between_looks(waiting_ > 0, looks);
    if (pause.count() == 0) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
    }
  }
}

void MpiThread::abort_if_asked() {
  if (const int code = abort_code_; code >= 0) end_job(code);
}

void MpiThread::abort(ExitCode exit_code) {
  abort_code_ = static_cast<int>(exit_code);
  submit([this] { abort_if_asked(); });
  std::this_thread::sleep_for(std::chrono::seconds(10));
}

}  // namespace dashlm
