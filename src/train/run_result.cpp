#include "train/run_result.h"

#include "config/config.h"
#include "io/file.h"

namespace dashlm {

void write_run_result(const std::string& folder, const RunResult& result) {
  Json json = {{"ended", result.ended},
               {"step", result.step},
               {"tokens", result.tokens},
               {"wall_s", result.wall_seconds},
               {"machine", result.setting.machine},
               {"parameters", result.setting.parameters},
               {"bytes_per_rank", result.setting.bytes_per_rank}};
  if (result.val_loss) json["val_loss"] = *result.val_loss;
  if (!result.reason.empty()) json["reason"] = result.reason;
  write_text_file(folder + "/result.json", json.dump(2) + "\n");
}

}  // namespace dashlm
