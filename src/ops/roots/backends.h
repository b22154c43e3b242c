// The operations of this room as each backend implements them: with the signature and the meaning
// of the operation itself, but on checked arguments.
#pragma once

#include "ops/roots/newton_step.h"
#include "ops/roots/root_iteration.h"
#include "ops/roots/root_reports.h"
#include "ops/roots/spectral_root.h"

namespace dashlm::cpu {
decltype(dashlm::fail_above) fail_above;
decltype(dashlm::newton_correction) newton_correction;
decltype(dashlm::newton_product) newton_product;
decltype(dashlm::normalize_blocks) normalize_blocks;
decltype(dashlm::report_roots) report_roots;
decltype(dashlm::restart_blocks) restart_blocks;
decltype(dashlm::spectral_root) spectral_root;
decltype(dashlm::store_roots) store_roots;
}  // namespace dashlm::cpu

namespace dashlm::cuda {
decltype(dashlm::fail_above) fail_above;
decltype(dashlm::newton_correction) newton_correction;
decltype(dashlm::newton_product) newton_product;
decltype(dashlm::normalize_blocks) normalize_blocks;
decltype(dashlm::report_roots) report_roots;
decltype(dashlm::restart_blocks) restart_blocks;
decltype(dashlm::spectral_root) spectral_root;
decltype(dashlm::store_roots) store_roots;
}  // namespace dashlm::cuda
