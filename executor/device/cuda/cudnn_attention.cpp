#include "executor/device/cuda/cudnn_attention.h"

#include <cuda_runtime.h>
#include <cudnn_frontend.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/error.h"

namespace trainyard::executor {

namespace {

namespace fe = cudnn_frontend;
using Graph = fe::graph::Graph;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

constexpr const char* kDoing = "attention by cuDNN";
constexpr const char* kHint = "TRAINYARD_ATTENTION=own runs our own kernels; CUDNN_LOGLEVEL_DBG=2 shows cuDNN's calls";

// Names of a graph's tensors at its execution.
enum Operand : std::int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOut,
  kStatistics,
  kOutGrad,
  kQueryGrad,
  kKeyGrad,
  kValueGrad,
};

void require(fe::error_t status) {
  if (status.is_bad()) {
    throw Error(status.get_message(), kDoing, kHint);
  }
}

void require(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) {
    throw Error(std::string("cuDNN failed: ") + cudnnGetErrorString(status), kDoing, kHint);
  }
}

void require(cudaError_t status) {
  if (status != cudaSuccess) {
    throw Error(std::string("CUDA failed: ") + cudaGetErrorString(status), kDoing, kHint);
  }
}

fe::DataType_t element_type(DataType type) {
  return type == DataType::kBf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF;
}

std::vector<std::int64_t> list(const std::array<std::int64_t, 4>& values) { return {values.begin(), values.end()}; }

Tensor input(Graph& graph, Operand operand, const FusedTensor& tensor, fe::DataType_t type) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_uid(operand)
                          .set_dim(list(tensor.sizes))
                          .set_stride(list(tensor.strides))
                          .set_data_type(type));
}

void output(const Tensor& made, Operand operand, const FusedTensor& tensor, fe::DataType_t type) {
  made->set_output(true)
      .set_uid(operand)
      .set_dim(list(tensor.sizes))
      .set_stride(list(tensor.strides))
      .set_data_type(type);
}

// cuDNN's band keeps key j of query i where j <= i + right and j + left > i.
template <class Attributes>
void set_scores(Attributes& attributes, const FusedShape& shape, float scale) {
  attributes.set_attn_scale(scale);
  if (shape.causal) {
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  }
  if (shape.window > 0) {
    attributes.set_diagonal_band_left_bound(static_cast<int>(shape.window));
  }
}

void add_forward(Graph& graph, const FusedShape& shape, const FusedTensors& at) {
  const fe::DataType_t type = element_type(shape.type);
  fe::graph::SDPA_attributes attributes;
  attributes.set_name("attention_forward").set_generate_stats(true);
  set_scores(attributes, shape, at.scale);
  const auto [out, statistics] = graph.sdpa(input(graph, kQuery, at.query, type), input(graph, kKey, at.key, type),
                                            input(graph, kValue, at.value, type), attributes);
  output(out, kOut, at.out, type);
  output(statistics, kStatistics, at.statistics, fe::DataType_t::FLOAT);
}

void add_backward(Graph& graph, const FusedShape& shape, const FusedTensors& at) {
  const fe::DataType_t type = element_type(shape.type);
  fe::graph::SDPA_backward_attributes attributes;
  attributes.set_name("attention_backward").set_deterministic_algorithm(true);
  set_scores(attributes, shape, at.scale);
  const auto [query_grad, key_grad, value_grad] = graph.sdpa_backward(
      input(graph, kQuery, at.query, type), input(graph, kKey, at.key, type), input(graph, kValue, at.value, type),
      input(graph, kOut, at.out, type), input(graph, kOutGrad, at.out, type),
      input(graph, kStatistics, at.statistics, fe::DataType_t::FLOAT), attributes);
  output(query_grad, kQueryGrad, at.query, type);
  output(key_grad, kKeyGrad, at.key, type);
  output(value_grad, kValueGrad, at.value, type);
}

void add_pass(Graph& graph, const FusedShape& shape, const FusedTensors& tensors) {
  graph.set_io_data_type(element_type(shape.type))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  shape.pass == AttentionPass::kForward ? add_forward(graph, shape, tensors) : add_backward(graph, shape, tensors);
}

// What cuDNN has against a graph; empty: nothing. Throws Error where it is the GPU or the library that failed.
std::string answer(fe::error_t status) {
  using Code = fe::error_code_t;
  const Code code = status.get_code();
  if (code == Code::OK || code == Code::CUDA_API_FAILED || code == Code::INVALID_CUDA_DEVICE ||
      code == Code::HANDLE_ERROR) {
    require(status);
    return "";
  }
  return status.get_message().empty() ? "it gives no reason" : status.get_message();
}

// Adds the pass; what the front end has against it, empty: nothing. The graph knows its GPU's compute capability, so
// that no GPU is asked, and the front end throws only for what it has no implementation of.
std::string describe(Graph& graph, const FusedShape& shape, const FusedTensors& tensors) {
  try {
    add_pass(graph, shape, tensors);
  } catch (const std::runtime_error& refusal) {
    return refusal.what();
  }
  return "";
}

// Why cuDNN has no kernels for it; empty: it has. handle null: on the GPU whose properties the graph has been given.
std::string unsupported(Graph& graph, const FusedShape& shape, const FusedTensors& tensors, cudnnHandle_t handle) {
  std::string why = describe(graph, shape, tensors);
  if (why.empty()) {
    why = answer(graph.validate());
  }
  if (why.empty()) {
    why = answer(handle == nullptr ? graph.build_operation_graph() : graph.build_operation_graph(handle));
  }
  if (why.empty()) {
    why = answer(graph.create_execution_plans({fe::HeurMode_t::A}));
  }
  if (why.empty()) {
    graph.deselect_workspace_greater_than(kFusedWorkspace);
    why = answer(graph.check_support());
  }
  return why;
}

// What work returns. Exceptions of the front end and of the library become an Error with a way out.
template <class Work>
auto with_way_out(const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& failure) {
    throw Error(std::string("cuDNN's front end failed: ") + failure.what(), kDoing, kHint);
  }
}

std::string mebibytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

std::string cudnn_version_text(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

// Without a graph: cuDNN doesn't take the shape.
struct CudnnAttention::Plan {
  explicit Plan(const FusedShape& shape) : tensors(fused_tensors(shape)) {}

  // Why cuDNN doesn't take it; empty: it does. Throws Error for whatever else goes wrong.
  std::string make(const FusedShape& shape, int compute_capability, cudnnHandle_t handle) {
    auto made = std::make_unique<Graph>();
    made->set_sm_version(compute_capability);
    std::string why = unsupported(*made, shape, tensors, handle);
    if (!why.empty()) {
      return why;
    }
    require(made->build_plans());
    require(made->get_workspace_size(workspace));
    if (workspace > kFusedWorkspace) {  // with what the front end adds to the plan's
      return "it would take " + mebibytes(workspace) + " beside the plan's memory, more than " +
             mebibytes(kFusedWorkspace);
    }
    graph = std::move(made);
    return "";
  }

  FusedTensors tensors;
  std::unique_ptr<Graph> graph;
  std::int64_t workspace = 0;
};

// Null: not of this pass.
struct CudnnAttention::Arrays {
  const void* qkv = nullptr;
  const void* out = nullptr;
  const float* log_sum_exp = nullptr;
  const void* out_grad = nullptr;
  void* qkv_grad = nullptr;
};

CudnnAttention::CudnnAttention(const CudnnOptions& options) : options_(options) {
  int major = 0, minor = 0;
  require(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, options_.ordinal));
  require(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, options_.ordinal));
  compute_capability_ = 10 * major + minor;
  require(cudaSetDevice(options_.ordinal));
  require(cudnnCreate(&handle_));
}

CudnnAttention::~CudnnAttention() {
  cudaSetDevice(options_.ordinal);
  cudaDeviceSynchronize();  // kernels that are still running are the plans'
  plans_.clear();
  cudnnDestroy(handle_);
}

std::string CudnnAttention::name() const { return "cuDNN " + cudnn_version_text(cudnnGetVersion()); }

std::optional<std::int64_t> CudnnAttention::workspace(const FusedShape& shape) {
  auto found = plans_.find(shape);
  if (found == plans_.end()) {
    require(cudaSetDevice(options_.ordinal));
    auto plan = std::make_unique<Plan>(shape);
    if (const std::string why = with_way_out([&] { return plan->make(shape, compute_capability_, handle_); });
        !why.empty()) {
      tell(shape, why);
    }
    found = plans_.emplace(shape, std::move(plan)).first;  // not before: what throws is no refusal
  }
  const Plan& plan = *found->second;
  return plan.graph == nullptr ? std::nullopt : std::optional(plan.workspace);
}

void CudnnAttention::tell(const FusedShape& shape, const std::string& refusal) const {
  if (options_.tells_refusals) {
    std::fprintf(stderr, "attention, %s: our own kernels, as cuDNN doesn't take it: %s\n", to_string(shape).c_str(),
                 refusal.c_str());
  }
}

void CudnnAttention::forward(void* stream, const FusedShape& shape, void* workspace, ConstValues qkv, Values out,
                             float* log_sum_exp) {
  run(stream, shape, workspace, {.qkv = qkv.data, .out = out.data, .log_sum_exp = log_sum_exp});
}

void CudnnAttention::backward(void* stream, const FusedShape& shape, void* workspace, ConstValues qkv, ConstValues out,
                              const float* log_sum_exp, ConstValues out_grad, Values qkv_grad) {
  run(stream, shape, workspace, {qkv.data, out.data, log_sum_exp, out_grad.data, qkv_grad.data});
}

void CudnnAttention::run(void* stream, const FusedShape& shape, void* workspace, const Arrays& arrays) {
  const Plan& plan = *plans_.at(shape);
  const auto at = [&](const void* array, const FusedTensor& tensor) -> void* {
    return static_cast<std::byte*>(const_cast<void*>(array)) + tensor.offset * size_of(shape.type);
  };
  const FusedTensors& tensors = plan.tensors;
  std::unordered_map<std::int64_t, void*> addresses{{kQuery, at(arrays.qkv, tensors.query)},
                                                    {kKey, at(arrays.qkv, tensors.key)},
                                                    {kValue, at(arrays.qkv, tensors.value)},
                                                    {kOut, const_cast<void*>(arrays.out)},
                                                    {kStatistics, const_cast<float*>(arrays.log_sum_exp)}};
  if (shape.pass == AttentionPass::kBackward) {
    addresses.insert({{kOutGrad, const_cast<void*>(arrays.out_grad)},
                      {kQueryGrad, at(arrays.qkv_grad, tensors.query)},
                      {kKeyGrad, at(arrays.qkv_grad, tensors.key)},
                      {kValueGrad, at(arrays.qkv_grad, tensors.value)}});
  }
  require(cudnnSetStream(handle_, static_cast<cudaStream_t>(stream)));
  require(plan.graph->execute(handle_, addresses, workspace));
}

namespace {

std::string library_name() { return "cuDNN " + cudnn_version_text(cudnnGetVersion()); }

std::string library_problem() {
  if (cudnnGetVersion() < kOldestCudnn) {
    return library_name() + " is too old: take " + cudnn_version_text(kOldestCudnn) + " or later";
  }
  return "";
}

std::unique_ptr<FusedAttention> make(const CudnnOptions& options) { return std::make_unique<CudnnAttention>(options); }

std::string refusal(const FusedShape& shape, const AbsentGpu& gpu) {
  return with_way_out([&] {
    const auto properties = std::make_shared<fe::DeviceProperties>();
    require(properties->deserialize({gpu.properties.begin(), gpu.properties.end()}));
    Graph graph;
    graph.set_device_properties(properties).set_sm_version(gpu.compute_capability);
    return unsupported(graph, shape, fused_tensors(shape), nullptr);
  });
}

constexpr CudnnModule kModule{kCudnnModuleVersion, library_name, library_problem, make, refusal};

}  // namespace

}  // namespace trainyard::executor

extern "C" const trainyard::executor::CudnnModule* trainyard_cudnn_module() { return &trainyard::executor::kModule; }
