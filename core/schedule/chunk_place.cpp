#include "core/error.h"
#include "core/schedule/schedule.h"

namespace trainyard {

namespace {

// The second chunk of a stage runs from the last stage to the first.
bool turns_back(ScheduleKind kind) { return kind == ScheduleKind::kZeroBubbleV || kind == ScheduleKind::kDualPipe; }

}  // namespace

int model_chunks(ScheduleKind kind, int stages, int chunks) {
  return kind == ScheduleKind::kDualPipe ? stages : stages * chunks;
}

int model_chunk(ScheduleKind kind, int stages, ChunkPlace place) {
  if (turns_back(kind) && place.chunk == 1) {
    return (kind == ScheduleKind::kDualPipe ? stages : 2 * stages) - 1 - place.stage;
  }
  return place.chunk * stages + place.stage;
}

std::optional<ChunkPlace> next_place(ScheduleKind kind, int stages, int chunks, ChunkPlace place) {
  check(place.stage >= 0 && place.stage < stages && place.chunk >= 0 && place.chunk < chunks, "chunk of the pipeline");
  if (turns_back(kind)) {
    if (place.chunk == 1) {
      return place.stage > 0 ? std::optional<ChunkPlace>({place.stage - 1, 1}) : std::nullopt;
    }
    if (place.stage + 1 < stages) {
      return ChunkPlace{place.stage + 1, 0};
    }
    return kind == ScheduleKind::kZeroBubbleV ? std::optional<ChunkPlace>({place.stage, 1}) : std::nullopt;
  }
  if (place.stage + 1 < stages) {
    return ChunkPlace{place.stage + 1, place.chunk};
  }
  return place.chunk + 1 < chunks ? std::optional<ChunkPlace>({0, place.chunk + 1}) : std::nullopt;
}

std::optional<ChunkPlace> previous_place(ScheduleKind kind, int stages, int chunks, ChunkPlace place) {
  check(place.stage >= 0 && place.stage < stages && place.chunk >= 0 && place.chunk < chunks, "chunk of the pipeline");
  if (turns_back(kind) && place.chunk == 1) {
    if (place.stage + 1 < stages) {
      return ChunkPlace{place.stage + 1, 1};
    }
    return kind == ScheduleKind::kZeroBubbleV ? std::optional<ChunkPlace>({place.stage, 0}) : std::nullopt;
  }
  if (place.stage > 0) {
    return ChunkPlace{place.stage - 1, place.chunk};
  }
  return place.chunk > 0 ? std::optional<ChunkPlace>({stages - 1, place.chunk - 1}) : std::nullopt;
}

bool passes(ScheduleKind kind, int microbatches, int microbatch, int chunk) {
  return kind != ScheduleKind::kDualPipe || (2 * microbatch < microbatches) == (chunk == 0);
}

}  // namespace trainyard
