// GPUs that a program on their machine cannot use.
#pragma once

#include <string>

namespace dashlm {

// Whether the NVIDIA driver shows a GPU, whatever this program can do with it. `root` is where /dev
// and /proc are: for tests.
bool machine_has_nvidia_gpu(const std::string& root = "");

// Why none answers to this program, and what to do: the build has no CUDA backend, or what CUDA
// says.
std::string why_no_gpu_answers();

}  // namespace dashlm
