#include "cli/program.h"

int main(int argc, char** argv) {
  return dashlm::run_program(argc, argv);
}
