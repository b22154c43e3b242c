// GPUs that a program on their machine cannot use.
#pragma once

#include <string>

namespace dashlm {

// Whether the NVIDIA driver shows a GPU, whether or not this program can use it. `root` is the
// folder of /dev and /proc, for tests.
bool machine_has_nvidia_gpu(const std::string& root = "");

// Why no GPU answers to this program, and how to change that: the build has no CUDA backend, or
// CUDA reports an error.
std::string why_no_gpu_answers();

}  // namespace dashlm
