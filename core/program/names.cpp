// The names of the program's enumerations, as documents and tables show them.
#include "core/program/program.h"

namespace trainyard {

std::string_view to_string(DataType type) {
  switch (type) {
    case DataType::kFp32:
      return "fp32";
    case DataType::kTf32:
      return "tf32";
    case DataType::kFp16:
      return "fp16";
    case DataType::kBf16:
      return "bf16";
    case DataType::kFp8:
      return "fp8";
    case DataType::kMxFp8:
      return "mxfp8";
    case DataType::kNvFp4:
      return "nvfp4";
    case DataType::kFp64:
      return "fp64";
    case DataType::kInt32:
      return "int32";
    case DataType::kInt64:
      return "int64";
  }
  return "?";
}

std::string_view to_string(ElementwiseKernel kernel) {
  switch (kernel) {
    case ElementwiseKernel::kEmbedForward:
      return "embed_forward";
    case ElementwiseKernel::kEmbedBackward:
      return "embed_backward";
    case ElementwiseKernel::kAdd:
      return "add";
    case ElementwiseKernel::kNormForward:
      return "norm_forward";
    case ElementwiseKernel::kNormBackward:
      return "norm_backward";
    case ElementwiseKernel::kNormWeightBackward:
      return "norm_weight_backward";
    case ElementwiseKernel::kRopeForward:
      return "rope_forward";
    case ElementwiseKernel::kRopeBackward:
      return "rope_backward";
    case ElementwiseKernel::kSwigluForward:
      return "swiglu_forward";
    case ElementwiseKernel::kSwigluBackward:
      return "swiglu_backward";
    case ElementwiseKernel::kLossStatistics:
      return "loss_statistics";
    case ElementwiseKernel::kLossGradient:
      return "loss_gradient";
    case ElementwiseKernel::kSumOfSquares:
      return "sum_of_squares";
    case ElementwiseKernel::kAdamW:
      return "adamw";
    case ElementwiseKernel::kSgd:
      return "sgd";
    case ElementwiseKernel::kCopy:
      return "copy";
    case ElementwiseKernel::kZero:
      return "zero";
    case ElementwiseKernel::kGeluForward:
      return "gelu_forward";
    case ElementwiseKernel::kGeluBackward:
      return "gelu_backward";
    case ElementwiseKernel::kBiasBackward:
      return "bias_backward";
    case ElementwiseKernel::kPositionForward:
      return "position_forward";
    case ElementwiseKernel::kPositionBackward:
      return "position_backward";
  }
  return "?";
}

std::string_view to_string(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::kEmbedding:
      return "embedding";
    case SegmentKind::kNorm:
      return "norm";
    case SegmentKind::kAttention:
      return "attention";
    case SegmentKind::kMlp:
      return "mlp";
    case SegmentKind::kResidual:
      return "residual";
    case SegmentKind::kHead:
      return "head";
    case SegmentKind::kLoss:
      return "loss";
    case SegmentKind::kQueryKeyValue:
      return "query_key_value";
    case SegmentKind::kScores:
      return "scores";
    case SegmentKind::kProjection:
      return "projection";
    case SegmentKind::kRouter:
      return "router";
    case SegmentKind::kExperts:
      return "experts";
    case SegmentKind::kCombine:
      return "combine";
    case SegmentKind::kMerge:
      return "merge";
  }
  return "?";
}

std::string_view to_string(CommunicationKind kind) {
  switch (kind) {
    case CommunicationKind::kAllReduce:
      return "all_reduce";
    case CommunicationKind::kReduceScatter:
      return "reduce_scatter";
    case CommunicationKind::kAllGather:
      return "all_gather";
    case CommunicationKind::kAllToAll:
      return "all_to_all";
    case CommunicationKind::kBroadcast:
      return "broadcast";
    case CommunicationKind::kSend:
      return "send";
    case CommunicationKind::kRecv:
      return "recv";
  }
  return "?";
}

std::string_view to_string(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::kRing:
      return "ring";
    case CollectiveAlgorithm::kDirect:
      return "direct";
    case CollectiveAlgorithm::kTree:
      return "tree";
  }
  return "?";
}

std::string_view to_string(MemoryCause cause) {
  switch (cause) {
    case MemoryCause::kParameters:
      return "parameters";
    case MemoryCause::kGradients:
      return "gradients";
    case MemoryCause::kOptimizer:
      return "optimizer";
    case MemoryCause::kActivations:
      return "activations";
    case MemoryCause::kGradientFlow:
      return "gradient_flow";
    case MemoryCause::kLogits:
      return "logits";
    case MemoryCause::kBoundary:
      return "boundary";
    case MemoryCause::kWorkspace:
      return "workspace";
    case MemoryCause::kTokens:
      return "tokens";
    case MemoryCause::kGathered:
      return "gathered";
    case MemoryCause::kFragmentation:
      return "fragmentation";
    case MemoryCause::kRuntime:
      return "runtime";
  }
  return "?";
}

std::string_view to_string(BufferContent content) {
  switch (content) {
    case BufferContent::kParameters:
      return "parameters";
    case BufferContent::kGradients:
      return "gradients";
    case BufferContent::kMomentum:
      return "momentum";
    case BufferContent::kVariance:
      return "variance";
    case BufferContent::kMaster:
      return "master";
    case BufferContent::kTokens:
      return "tokens";
    case BufferContent::kTargets:
      return "targets";
    case BufferContent::kBranch:
      return "branch";
    case BufferContent::kResidual:
      return "residual";
    case BufferContent::kNormed:
      return "normed";
    case BufferContent::kRstd:
      return "rstd";
    case BufferContent::kQkv:
      return "qkv";
    case BufferContent::kAttention:
      return "attention";
    case BufferContent::kLogSumExp:
      return "log_sum_exp";
    case BufferContent::kGateUp:
      return "gate_up";
    case BufferContent::kActivated:
      return "activated";
    case BufferContent::kLogits:
      return "logits";
    case BufferContent::kStatistics:
      return "statistics";
    case BufferContent::kResidualGrad:
      return "residual_grad";
    case BufferContent::kNormedGrad:
      return "normed_grad";
    case BufferContent::kQkvGrad:
      return "qkv_grad";
    case BufferContent::kAttentionGrad:
      return "attention_grad";
    case BufferContent::kGateUpGrad:
      return "gate_up_grad";
    case BufferContent::kActivatedGrad:
      return "activated_grad";
    case BufferContent::kKeyValue:
      return "key_value";
    case BufferContent::kKeyValueGrad:
      return "key_value_grad";
    case BufferContent::kRouting:
      return "routing";
    case BufferContent::kRouted:
      return "routed";
    case BufferContent::kRoutedGrad:
      return "routed_grad";
    case BufferContent::kSums:
      return "sums";
  }
  return "?";
}

std::string_view to_string(InstructionKind kind) {
  switch (kind) {
    case InstructionKind::kForward:
      return "forward";
    case InstructionKind::kBackwardInput:
      return "backward_input";
    case InstructionKind::kBackwardWeight:
      return "backward_weight";
    case InstructionKind::kRecompute:
      return "recompute";
    case InstructionKind::kGather:
      return "gather";
    case InstructionKind::kFree:
      return "free";
    case InstructionKind::kReduce:
      return "reduce";
    case InstructionKind::kAllToAll:
      return "all_to_all";
    case InstructionKind::kSend:
      return "send";
    case InstructionKind::kRecv:
      return "recv";
    case InstructionKind::kGradientNorm:
      return "gradient_norm";
    case InstructionKind::kNormReduce:
      return "norm_reduce";
    case InstructionKind::kOptimizer:
      return "optimizer";
    case InstructionKind::kSnapshot:
      return "snapshot";
    case InstructionKind::kOffload:
      return "offload";
  }
  return "?";
}

std::string_view to_string(Stream stream) {
  switch (stream) {
    case Stream::kCompute:
      return "compute";
    case Stream::kTensor:
      return "tensor";
    case Stream::kData:
      return "data";
    case Stream::kSendForward:
      return "send_forward";
    case Stream::kRecvForward:
      return "recv_forward";
    case Stream::kSendBackward:
      return "send_backward";
    case Stream::kRecvBackward:
      return "recv_backward";
    case Stream::kHostCopy:
      return "host_copy";
  }
  return "?";
}

std::string_view to_string(GroupKind kind) {
  switch (kind) {
    case GroupKind::kTensor:
      return "tensor";
    case GroupKind::kData:
      return "data";
    case GroupKind::kPipeline:
      return "pipeline";
    case GroupKind::kContext:
      return "context";
    case GroupKind::kExpert:
      return "expert";
    case GroupKind::kEmbedding:
      return "embedding";
    case GroupKind::kWorld:
      return "world";
    case GroupKind::kShard:
      return "shard";
    case GroupKind::kReplica:
      return "replica";
    case GroupKind::kExpertTensor:
      return "expert_tensor";
    case GroupKind::kExpertData:
      return "expert_data";
  }
  return "?";
}

}  // namespace trainyard
