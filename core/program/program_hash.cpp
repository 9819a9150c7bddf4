#include "core/program/program_hash.h"

#include <cstring>
#include <type_traits>
#include <variant>

#include "core/plan/provenance.h"

namespace trainyard {

namespace {

// Numbers as eight little-endian bytes each, so that the text is the same on every machine.
class ByteSink {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    const auto number = static_cast<std::uint64_t>(value);
    for (int byte = 0; byte < 8; ++byte) {
      bytes_.push_back(static_cast<char>(number >> (8 * byte) & 0xff));
    }
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) {
      if constexpr (std::is_integral_v<T>) {
        put(*value);
      } else {
        put(value->value());
      }
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

void put(ByteSink& sink, const Operation& operation) {
  sink.put(operation.index());
  if (const auto* gemm = std::get_if<Gemm>(&operation)) {
    for (std::int64_t v : {gemm->batch, gemm->m, gemm->n, gemm->k}) {
      sink.put(v);
    }
    sink.put(gemm->type);
    sink.put(gemm->transpose);
    sink.put(gemm->accumulate);
    if (gemm->type == DataType::kFp8) {  // elsewhere nothing follows from it
      sink.put(gemm->gradient);
    }
  } else if (const auto* a = std::get_if<Attention>(&operation)) {
    for (std::int64_t v :
         {a->sequences, a->query_heads, a->key_heads, a->queries, a->keys, a->head_size, a->query_tile}) {
      sink.put(v);
    }
    sink.put(a->mask);
    sink.put(a->pass);
    sink.put(a->type);
    if (a->value_size != 0 || a->window != 0) {
      sink.put(a->value_size);
      sink.put(a->window);
    }
  } else if (const auto* pass = std::get_if<Elementwise>(&operation)) {
    sink.put(pass->kernel);
    sink.put(pass->elements);
    sink.put(pass->read.value());
    sink.put(pass->written.value());
  }
}

void put(ByteSink& sink, const std::vector<Operation>& operations) {
  sink.put(operations.size());
  for (const Operation& operation : operations) {
    put(sink, operation);
  }
}

void put(ByteSink& sink, const Communication& c) {
  sink.put(c.kind);
  sink.put(c.algorithm);
  sink.put(c.group.value());
  sink.put(c.peer_stage);
  sink.put(c.tag);
  sink.put(c.elements);
  sink.put(c.partition);
  sink.put(c.type);
  sink.put(c.reduction_type);
  sink.put(c.op);
  sink.put(c.sent.value());
  sink.put(c.messages);
}

void put(ByteSink& sink, const Instruction& instruction) {
  sink.put(instruction.kind);
  sink.put(instruction.stream);
  sink.put(instruction.microbatch);
  sink.put(instruction.chunk);
  sink.put(instruction.layer);
  sink.put(instruction.segment);
  sink.put(instruction.bucket);
  sink.put(instruction.accumulate);
  for (const auto* list : {&instruction.reads, &instruction.writes}) {
    sink.put(list->size());
    for (BufferId id : *list) {
      sink.put(id.value());
    }
  }
  sink.put(instruction.waits.size());
  for (const Dependency& wait : instruction.waits) {
    sink.put(wait.instruction.value());
    sink.put(wait.step_offset);
  }
  put(sink, instruction.operations);
  sink.put(instruction.communication.has_value());
  if (instruction.communication) {
    put(sink, *instruction.communication);
  }
}

void put(ByteSink& sink, const Role& role) {
  sink.put(role.stage);
  for (const Bucket& bucket : role.buckets) {
    sink.put(bucket.elements);
    for (std::int64_t boundary : bucket.boundaries) {
      sink.put(boundary);
    }
  }
  for (const Buffer& buffer : role.buffers) {
    sink.put(buffer.content);
    sink.put(buffer.bytes.value());
    sink.put(buffer.arena_offset);
  }
  for (const Instruction& instruction : role.instructions) {
    put(sink, instruction);
  }
}

}  // namespace

std::string program_hash(const Program& program) {
  ByteSink sink;
  sink.put(program.kind);
  for (const Segment& segment : program.segments) {
    sink.put(segment.kind);
    for (Pass pass : {Pass::kForward, Pass::kBackwardInput, Pass::kBackwardWeight}) {
      put(sink, segment.operations(pass));
    }
  }
  for (const Role& role : program.roles) {
    put(sink, role);
  }
  for (const Binding& binding : program.bindings) {
    sink.put(binding.role.value());
    sink.put(binding.fabric_class);
  }
  return content_hash(sink.bytes());
}

}  // namespace trainyard
