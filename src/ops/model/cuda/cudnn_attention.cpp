#include "ops/model/cuda/cudnn_attention.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"

#ifdef DASHLM_HAS_CUDNN
#include <dlfcn.h>

// The library is looked for when it is first needed, so that the program starts without it.
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

// The library as dlopen() gave it, which the frontend leaves to the program to define.
void* cudnn_frontend::cudnn_dlhandle = nullptr;
#endif

namespace dashlm::cuda {
namespace {

enum class Choice { automatic, own, cudnn };

Choice choice() {
  const char* text = std::getenv("DASHLM_ATTENTION");
  const std::string value = text == nullptr ? "" : text;
  if (value.empty()) return Choice::automatic;
  if (value == "own") return Choice::own;
  require(value == "cudnn", "DASHLM_ATTENTION is '{}'; it can be 'own' or 'cudnn'", value);
  return Choice::cudnn;
}

// Why cuDNN does not do it: each reason once.
void report_refusal(const std::string& reason) {
  if (choice() == Choice::cudnn) {
    fail_runtime("DASHLM_ATTENTION asks for cuDNN's attention, but {}", reason);
  }
  static std::mutex mutex;
  static std::set<std::string> reported;
  const std::lock_guard lock(mutex);
  if (reported.insert(reason).second) {
    spdlog::warn("attention in bf16 runs by own kernels, which are slow: {}", reason);
  }
}

#ifdef DASHLM_HAS_CUDNN

namespace fe = cudnn_frontend;
using Attributes = fe::graph::Tensor_attributes;
using TensorPointer = std::shared_ptr<Attributes>;

void check(fe::error_t status, const char* what) {
  if (status.is_bad()) fail_runtime("cuDNN, {}: {}", what, status.get_message());
}

void check(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) {
    fail_runtime("cuDNN, {}: {}", what, fe::detail::get_error_string(status));
  }
}

// --- the library

// Throws if cuDNN cannot be loaded.
cudnnHandle_t make_handle() {
  if (fe::cudnn_dlhandle == nullptr) {
    const std::string name = fmt::format("libcudnn.so.{}", CUDNN_MAJOR);
    fe::cudnn_dlhandle = dlopen(name.c_str(), RTLD_NOW);
    if (fe::cudnn_dlhandle == nullptr) fail_runtime("{}", dlerror());
    // The frontend would take the runtime of CUDA 12 where it finds that as well.
    setenv("CUDNN_FRONTEND_CUDART_LIB_NAME",
           fmt::format("libcudart.so.{}", CUDART_VERSION / 1000).c_str(), 0);
  }
  cudnnHandle_t handle = nullptr;
  check(fe::detail::create_handle(&handle), "creating a handle");
  spdlog::info("cuDNN {}", fe::detail::get_backend_version_string());
  return handle;
}

// It lives as long as the process, like the plans, whose lock protects this.
cudnnHandle_t handle_of(int gpu) {
  static std::map<int, cudnnHandle_t> handles;
  const auto found = handles.find(gpu);
  return found != handles.end() ? found->second : handles.emplace(gpu, make_handle()).first->second;
}

// --- the graph

enum class Pass { forward, backward };

// All that a plan depends on.
struct Problem {
  int gpu;
  Pass pass;
  int64_t batch, length, query_heads, kv_heads, width;

  Problem(Pass which, const ConstTensor& qkv, const AttentionHeads& heads)
      : gpu(0),
        pass(which),
        batch(qkv.dim(0)),
        length(qkv.dim(1)),
        query_heads(heads.query),
        kv_heads(heads.key_value),
        width(qkv.dim(3)) {
    cuda::check(cudaGetDevice(&gpu));
  }
  auto operator<=>(const Problem&) const = default;
  std::string text() const {
    return fmt::format("{} x {} tokens, {} heads on {} of {}", batch, length, query_heads, kv_heads,
                       width);
  }
};

// Names of tensors in a graph.
enum Uid : int64_t { kQ = 1, kK, kV, kOut, kStats, kDOut, kDQ, kDK, kDV };

// Gives a tensor the shape (B, heads, T, h), its place among `row_heads` heads per token, and a
// name.
Attributes& describe(Attributes& x, Uid uid, const Problem& p, int64_t heads, int64_t row_heads) {
  return x.set_uid(uid)
      .set_dim({p.batch, heads, p.length, p.width})
      .set_stride({p.length * row_heads * p.width, p.width, row_heads * p.width, 1});
}

// The log-sum-exp, (B, H, T, 1).
Attributes& describe_stats(Attributes& x, const Problem& p) {
  return x.set_uid(kStats)
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim({p.batch, p.query_heads, p.length, 1})
      .set_stride({p.query_heads * p.length, p.length, 1, 1});
}

TensorPointer input(fe::graph::Graph& graph, Uid uid, const Problem& p, int64_t heads,
                    int64_t row_heads) {
  Attributes x;
  return graph.tensor(describe(x, uid, p, heads, row_heads));
}

// Query t attends to the keys 0 to t.
template <class Attention>
Attention causal(const Problem& p) {
  Attention attributes;
  attributes.set_name("attention")
      .set_attn_scale(1.0f / std::sqrt(static_cast<float>(p.width)))
      .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
      .set_diagonal_band_right_bound(0);
  return attributes;
}

std::shared_ptr<fe::graph::Graph> make_graph(const Problem& p) {
  auto graph = std::make_shared<fe::graph::Graph>();
  graph->set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  const int64_t all_heads = p.query_heads + 2 * p.kv_heads;
  const TensorPointer q = input(*graph, kQ, p, p.query_heads, all_heads);
  const TensorPointer k = input(*graph, kK, p, p.kv_heads, all_heads);
  const TensorPointer v = input(*graph, kV, p, p.kv_heads, all_heads);
  if (p.pass == Pass::forward) {
    auto attributes = causal<fe::graph::SDPA_attributes>(p);
    const auto [out, stats] = graph->sdpa(q, k, v, attributes.set_generate_stats(true));
    describe(*out, kOut, p, p.query_heads, p.query_heads).set_output(true);
    describe_stats(*stats, p).set_output(true);
  } else {
    const TensorPointer out = input(*graph, kOut, p, p.query_heads, p.query_heads);
    const TensorPointer d_out = input(*graph, kDOut, p, p.query_heads, p.query_heads);
    Attributes x;
    const TensorPointer stats = graph->tensor(describe_stats(x, p));
    auto attributes = causal<fe::graph::SDPA_backward_attributes>(p);
    const auto [d_q, d_k, d_v] = graph->sdpa_backward(q, k, v, out, d_out, stats,
                                                      attributes.set_deterministic_algorithm(true));
    describe(*d_q, kDQ, p, p.query_heads, all_heads).set_output(true);
    describe(*d_k, kDK, p, p.kv_heads, all_heads).set_output(true);
    describe(*d_v, kDV, p, p.kv_heads, all_heads).set_output(true);
  }
  return graph;
}

// --- the plan

// A graph with the kernels chosen for it, or why there is none.
struct Plan {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<fe::graph::Graph> graph;  // null if refused
  int64_t workspace = 0;                    // bytes
  std::string refusal;

  explicit Plan(const Problem& p) {
    // Beside what is checked here, the frontend throws where it misses a library or a function.
    try {
      handle = handle_of(p.gpu);
    } catch (const std::exception& e) {
      refusal = e.what();
      return;
    }
    try {
      auto made = make_graph(p);
      check(made->build(handle, {fe::HeurMode_t::A}),
            p.pass == Pass::forward ? "planning attention" : "planning attention's gradients");
      check(made->get_workspace_size(workspace), "asking for the size of the workspace");
      graph = std::move(made);
    } catch (const std::exception& e) {
      refusal = fmt::format("{} ({})", e.what(), p.text());
    }
  }
};

// References stay valid. Plans are never destroyed: at the end of the process the driver may be
// gone before them.
const Plan& plan_of(const Problem& problem) {
  static std::mutex mutex;
  static auto& plans = *new std::map<Problem, const Plan>;
  const std::lock_guard lock(mutex);
  return plans.try_emplace(problem, problem).first->second;
}

using Pointers = std::unordered_map<int64_t, void*>;

// cuDNN takes all addresses alike, of tensors that it writes and of those that it reads.
void* address(const ConstTensor& x) {
  return const_cast<void*>(x.data);
}

// Where the heads from `head` on lie, for each token.
void* at_head(const ConstTensor& qkv, int64_t head) {
  return static_cast<char*>(address(qkv)) + head * qkv.dim(3) * size_of(qkv.dtype);
}

// The engines align parts of their workspace relative to its beginning.
constexpr int64_t kWorkspaceAlignment = 256;

Tensor take_workspace(Context& context, const Plan& plan) {
  return context.scratch.take("attention.cudnn", {plan.workspace + kWorkspaceAlignment}, DType::u8);
}

void execute(Context& context, const Plan& plan, const Tensor& workspace, Pointers tensors) {
  // The frontend throws where the CUDA runtime lacks a function.
  try {
    const auto& device = static_cast<CudaDevice&>(context.device);
    const auto beyond = reinterpret_cast<uintptr_t>(workspace.data) % kWorkspaceAlignment;
    void* work =
        static_cast<char*>(workspace.data) + (kWorkspaceAlignment - beyond) % kWorkspaceAlignment;
    check(fe::detail::set_stream(plan.handle, device.stream()), "setting the stream");
    check(plan.graph->execute(plan.handle, tensors, work), "attention");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    fail_runtime("cuDNN, attention: {}", e.what());
  }
}

// cuDNN reads 16 bytes at a time.
bool aligned(const Pointers& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const auto& tensor) {
    return reinterpret_cast<uintptr_t>(tensor.second) % 16 == 0;
  });
}

bool run(Context& context, Pass pass, const ConstTensor& qkv, const AttentionHeads& heads,
         Pointers tensors) {
  if (choice() == Choice::own) return false;
  tensors.insert({{kQ, at_head(qkv, 0)},
                  {kK, at_head(qkv, heads.query)},
                  {kV, at_head(qkv, heads.query + heads.key_value)}});
  if (!aligned(tensors)) {
    report_refusal("cuDNN's tensors, and heads in them, must begin at multiples of 16 bytes");
    return false;
  }
  const Plan& plan = plan_of(Problem(pass, qkv, heads));
  if (plan.graph == nullptr) {
    report_refusal(plan.refusal);
    return false;
  }
  const ArenaScope scope(context.scratch);
  const Tensor workspace = take_workspace(context, plan);
  context.compute(execute, context, plan, workspace, std::move(tensors));
  return true;
}

#endif

}  // namespace

#ifdef DASHLM_HAS_CUDNN

bool cudnn_attention(Context& context, const Tensor& out, const Tensor& log_sum_exp,
                     const ConstTensor& qkv, const AttentionHeads& heads) {
  return run(context, Pass::forward, qkv, heads, {{kOut, out.data}, {kStats, log_sum_exp.data}});
}

bool cudnn_attention_backward(Context& context, const AttentionBackward& t,
                              const AttentionHeads& heads) {
  return run(context, Pass::backward, t.qkv, heads,
             {{kOut, address(t.out)},
              {kStats, address(t.log_sum_exp)},
              {kDOut, address(t.d_out)},
              {kDQ, at_head(t.d_qkv, 0)},
              {kDK, at_head(t.d_qkv, heads.query)},
              {kDV, at_head(t.d_qkv, heads.query + heads.key_value)}});
}

#else

bool cudnn_attention(Context&, const Tensor&, const Tensor&, const ConstTensor&,
                     const AttentionHeads&) {
  if (choice() != Choice::own) report_refusal("dashlm was built without cuDNN");
  return false;
}

bool cudnn_attention_backward(Context&, const AttentionBackward&, const AttentionHeads&) {
  if (choice() != Choice::own) report_refusal("dashlm was built without cuDNN");
  return false;
}

#endif

}  // namespace dashlm::cuda
