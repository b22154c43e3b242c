#include "cli/program.h"

#include <CLI/CLI.hpp>
#include <new>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/usage.h"
#include "dist/launch.h"
#include "ops/core/cpu_kernels.h"

namespace dashlm {
namespace {

int run(int argc, char** argv) {
  init_logging(/*quiet=*/false);
  CLI::App app{"Pretrains Llama models from a JSON config, with block-Shampoo optimizers.",
               "dashlm"};
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text);
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
  add_help_command(app);
  const std::string command = argc > 1 ? argv[1] : "";
  const bool about_itself = command.empty() || command.starts_with("-") || command == "help";
  if (about_itself && launched_rank() > 0) return 0;  // rank 0 says it
  // These would do the same thing several times over.
  const bool for_ranks =
      about_itself || command == "train" || command == "eval" || command == "bench";
  const auto is_it = [&](const CLI::App* other) { return other->get_name() == command; };
  if (!for_ranks && !app.get_subcommands(is_it).empty()) require_one_process(command);
  parse_command_line(app, argc, argv);
  require_output_written();
  return exit_code;
}

}  // namespace

int run_program(int argc, char** argv) {
  restart_with_right_kernels(argv);
  try {
    return run(argc, argv);
  } catch (const Error& e) {
    wait_for_rank_0();
    spdlog::error("{}", e.what());
    return static_cast<int>(e.code());
  } catch (const std::bad_alloc&) {
    spdlog::error("out of memory");
  } catch (const std::exception& e) {
    spdlog::error("unexpected: {}", e.what());
  }
  return static_cast<int>(ExitCode::runtime_failure);
}

}  // namespace dashlm
