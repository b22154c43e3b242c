// How this layer ends a process in which something is wrong.
#pragma once

namespace dashlm::host_cuda {

// Prints the message, after printf's manner, and where the running kernel stands, and aborts.
[[noreturn]] [[gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

}  // namespace dashlm::host_cuda
