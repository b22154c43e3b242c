// The program dashlm with one optimizer more:
//
//   dashlm_lion train CONFIG.json --set optimizer.type=lion --set optimizer.beta2=0.98
#include "cli/program.h"
#include "lion.h"
#include "optim/registry.h"

int main(int argc, char** argv) {
  dashlm::register_optimizer("lion", LionConfig{});
  return dashlm::run_program(argc, argv);
}
