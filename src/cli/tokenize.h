// `dashlm tokenize`: from documents to a dataset.
#pragma once

namespace CLI {
class App;
}

namespace dashlm {

void add_tokenize_command(CLI::App& app);

}  // namespace dashlm
