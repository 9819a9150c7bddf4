#include "core/document/content_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "core/error.h"

namespace trainyard {

namespace {
std::string text(XXH128_hash_t hash) { return fmt::format("xxh128:{:016x}{:016x}", hash.high64, hash.low64); }
}  // namespace

std::string content_hash(std::string_view bytes) { return text(XXH3_128bits(bytes.data(), bytes.size())); }

struct ContentHasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    check(xxh != nullptr, "memory for the state of a hash");
    XXH3_128bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

ContentHasher::ContentHasher() : state_(std::make_unique<State>()) {}
ContentHasher::~ContentHasher() = default;

void ContentHasher::add(std::string_view bytes) { XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size()); }

void ContentHasher::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::string ContentHasher::hash() const { return text(XXH3_128bits_digest(state_->xxh)); }

}  // namespace trainyard
