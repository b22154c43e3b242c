// `dashlm bench roots`: the speed of the inverse roots, and with --trace their convergence.
#pragma once

namespace CLI {
class App;
}

namespace dashlm {

void add_bench_roots_command(CLI::App& bench);

}  // namespace dashlm
