#include "dist/mpi/user_namespace.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dashlm {
namespace {

// The machine's own user namespace has this number in every Linux.
constexpr const char* kOutermost = "user:[4026531837]";

// Programs whose children are ranks, or shells and containers that become ranks.
constexpr std::array kLaunchers = {"mpirun", "mpiexec", "orterun",    "orted",
                                   "prted",  "prte",    "slurmstepd", "hydra_pmi_proxy"};

// "" if it is not visible, as for processes of a namespace around this one.
std::string user_namespace(const std::string& process) {
  std::error_code error;
  return std::filesystem::read_symlink(process + "/ns/user", error).string();
}

std::string name_of(const std::string& process) {
  std::string name;
  std::ifstream file(process + "/comm");
  std::getline(file, name);
  return name;
}

// "" for the first process of all.
std::string parent_of(const std::string& proc, const std::string& process) {
  std::ifstream file(process + "/status");
  for (std::string key, value; file >> key && std::getline(file, value);) {
    if (key != "PPid:") continue;
    const int parent = std::atoi(value.c_str());
    return parent > 0 ? proc + "/" + std::to_string(parent) : "";
  }
  return "";
}

}  // namespace

bool has_user_namespace_of_its_own(const std::string& proc) {
  const std::string own = user_namespace(proc + "/self");
  if (own.empty() || own == kOutermost) return false;
  std::string process = proc + "/self";
  while (!(process = parent_of(proc, process)).empty()) {
    if (user_namespace(process) != own) return true;
    const std::string name = name_of(process);
    if (std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end()) return false;
  }
  return true;  // the launcher is not visible from here
}

void choose_copies_between_ranks() {
  if (!has_user_namespace_of_its_own()) return;
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", /*overwrite=*/0);
}

}  // namespace dashlm
