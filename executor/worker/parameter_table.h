// Where each parameter of a role lies.
#pragma once

#include <optional>
#include <vector>

#include "core/program/program.h"

namespace trainyard::executor {

struct ParameterPlace {
  const Bucket* bucket = nullptr;
  const BucketParameter* parameter = nullptr;
};

// The weight of this kind (and layer); with tied embeddings the head is the embedding.
// A bug if the role doesn't hold it.
ParameterPlace find_parameter(const Role& role, ParameterKind kind, std::optional<int> layer);
// Its bias; nothing where the model has none.
std::optional<ParameterPlace> find_bias(const Role& role, ParameterKind kind, std::optional<int> layer);

// The norm before attention and the one before the feed-forward share a segment; which of them (or the
// final one) an instruction is follows from who uses what it makes.
ParameterKind norm_parameter(const Role& role, const std::vector<Segment>& segments, const Instruction& norm);

// The last stage's copy of a tied table, which the first one saves and counts in the norm.
bool is_copy(const Parameter& parameter, const Coordinates& at);

// Matrices are decayed, tables among them; weights of norms and biases aren't.
bool decays(const Parameter& parameter);

}  // namespace trainyard::executor
