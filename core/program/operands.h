// Which contents each pass of each segment reads and writes, and how to find them.
//
// Every pass also reads the kParameters buffers of the buckets that hold its weights; BackwardWeight
// writes kGradients (adding when Instruction::accumulate). "=" means updated in place.
//
//   segment    forward                              backward input                        backward weight
//   embedding  Tokens -> Residual (partial)         -                                     Tokens, ResidualGrad
//   norm       Residual -> Normed, Rstd             NormedGrad, Residual, Rstd            NormedGrad, Residual,
//              + branch: Residual, Branch             (ResidualGrad =) -> ResidualGrad      Rstd
//                -> Residual, Normed, Rstd
//   attention  Normed -> Qkv, Attention,            ResidualGrad, Qkv, Attention,         ResidualGrad, Attention,
//                LogSumExp, Branch (partial)          LogSumExp -> AttentionGrad, QkvGrad,  QkvGrad, Normed
//                                                     NormedGrad (partial)
//   mlp        Normed -> GateUp, Activated,         ResidualGrad, GateUp -> ActivatedGrad, ResidualGrad, Activated,
//                Branch (partial)                     GateUpGrad, NormedGrad (partial)      GateUpGrad, Normed
//   residual   Residual, Branch -> Residual         -                                     -
//   head       Normed, Targets -> Logits,           Logits -> NormedGrad (partial)        Logits, Normed
//                Statistics (own part)
//   loss       Logits =, Targets, Statistics        -                                     -
//                -> Sums
//   merge      Normed (both) -> Residual (columns)  ResidualGrad -> NormedGrad (both,     ResidualGrad, Normed (both)
//                                                     partial)
//
// Side by side, mlp reads and adds to attention's Branch; behind one norm attention reads and adds to mlp's NormedGrad.
//
// The gradient of a branch is the gradient of the residual stream that it was added to, so attention and
// mlp read ResidualGrad as the gradient of their output; norm's backward then updates it in place. Only the
// final norm has no incoming ResidualGrad and writes a fresh one. With sequence parallelism a norm works on
// this rank's share of the tokens, and attention, mlp and head on gathered copies.
//
//   GradientNorm  Gradients -> Sums                 NormReduce  Sums =
//   Optimizer     Gradients, Sums, Parameters =, Momentum =, Variance =
//   Reduce, Gather, Send, Recv: what they move, read or written or both.
//
// kSums lives from step to step and is zeroed before a step's first instruction.
#pragma once

#include <optional>

#include "core/program/program.h"

namespace trainyard {

// The buffer with this content among an instruction's reads (or writes).
std::optional<BufferId> find_read(const Role& role, const Instruction& instruction, BufferContent content);
std::optional<BufferId> find_written(const Role& role, const Instruction& instruction, BufferContent content);

}  // namespace trainyard
