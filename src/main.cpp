// dashlm: pretrains Llama models. This file only dispatches; see src/cli.
#include <CLI/CLI.hpp>
#include <new>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "base/version.h"
#include "cli/commands.h"
#include "dist/launch.h"
#include "ops/cpu_kernels.h"

namespace {

int run(int argc, char** argv) {
  using namespace dashlm;
  init_logging(/*quiet=*/false);
  CLI::App app{"Pretrains Llama models from a JSON config, with block-Shampoo optimizers."};
  app.require_subcommand(1);
  app.set_version_flag("--version", version());
  int exit_code = 0;
  add_train_command(app, exit_code);
  add_eval_command(app, exit_code);
  add_generate_command(app);
  add_tokenize_command(app);
  add_verify_command(app, exit_code);
  add_plan_command(app);
  add_devices_command(app);
  add_config_command(app);
  add_bench_command(app);
  // The others would do the same thing several times over.
  const std::string command = argc > 1 ? argv[1] : "";
  if (command != "train" && command != "eval" && command != "bench") require_one_process(command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : static_cast<int>(ExitCode::bad_input);
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  using dashlm::ExitCode;
  dashlm::restart_with_right_kernels(argv);
  try {
    return run(argc, argv);
  } catch (const dashlm::Error& e) {
    spdlog::error("{}", e.what());
    return static_cast<int>(e.code());
  } catch (const std::bad_alloc&) {
    spdlog::error("out of memory");
  } catch (const std::exception& e) {
    spdlog::error("unexpected: {}", e.what());
  }
  return static_cast<int>(ExitCode::runtime_failure);
}
