// The subcommands of `dashlm`, one source file each. Each function adds its command to the parser.
// The parser runs the command at its end. A command that fails throws a dashlm::Error.
#pragma once

namespace CLI {
class App;
}

namespace dashlm {

// `exit_code` is set when it is not 0: after a signal.
void add_train_command(CLI::App& app, int& exit_code);
void add_eval_command(CLI::App& app, int& exit_code);
// `exit_code` is set when a file is bad.
void add_verify_command(CLI::App& app, int& exit_code);
void add_plan_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_config_command(CLI::App& app);
void add_generate_command(CLI::App& app);
void add_tokenize_command(CLI::App& app);
void add_bench_command(CLI::App& app);  // has subcommands: step, optimizer, roots, data

}  // namespace dashlm
