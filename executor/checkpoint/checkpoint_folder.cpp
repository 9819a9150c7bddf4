#include "executor/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <system_error>

#include "core/document/content_hash.h"
#include "core/error.h"

namespace trainyard::executor {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStem = "step-";

std::optional<std::int64_t> step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(kStem)) {
    return std::nullopt;
  }
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kStem.size(), end, step);
  return parsed.ec == std::errc() && parsed.ptr == end && step >= 0 ? std::optional(step) : std::nullopt;
}

// Newest first.
using Folders = std::map<std::int64_t, fs::path, std::greater<>>;

Folders folders_in(const fs::path& checkpoints) {
  Folders folders;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(checkpoints, failure)) {
    if (const auto step = step_of(entry.path())) {
      folders[*step] = entry.path();
    }
  }
  return folders;
}

std::string file_hash(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<char> block(std::size_t{1} << 20);
  ContentHasher hasher;
  while (stream) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    hasher.add(std::string_view(block.data(), static_cast<std::size_t>(stream.gcount())));
  }
  if (!stream.eof()) {
    throw Error("can't be read", file.string());
  }
  return hasher.hash();
}

void discard(const fs::path& checkpoint) {
  std::error_code ignored;
  fs::remove(manifest_file(checkpoint), ignored);  // first: what is half removed is not complete
  fs::remove_all(checkpoint, ignored);
}

}  // namespace

fs::path checkpoint_path(const fs::path& checkpoints, std::int64_t step) {
  return checkpoints / (std::string(kStem) + std::to_string(step));
}

void verify_checkpoint(const fs::path& checkpoint, const CheckpointManifest& manifest) {
  for (const CheckpointPart& part : manifest.parts) {
    const fs::path file = checkpoint / part.file;
    std::error_code failure;
    const std::uintmax_t size = fs::file_size(file, failure);
    if (failure) {
      throw Error("is missing or can't be read: " + failure.message(), file.string());
    }
    if (size != static_cast<std::uintmax_t>(part.bytes.value())) {
      throw Error("has " + std::to_string(size) + " bytes, its manifest says " + std::to_string(part.bytes.value()),
                  file.string());
    }
    if (file_hash(file) != part.checksum) {
      throw Error("has other bytes than the manifest's checksum says", file.string());
    }
  }
}

CheckpointChoice last_good_checkpoint(const fs::path& checkpoints) {
  CheckpointChoice choice;
  for (const auto& [step, folder] : folders_in(checkpoints)) {
    RefusedCheckpoint refused{.folder = folder, .step = step, .complete = fs::exists(manifest_file(folder)), .why = {}};
    if (!refused.complete) {
      refused.why = "it has no manifest: the save was not finished";
      choice.refused.push_back(std::move(refused));
      continue;
    }
    try {
      CheckpointManifest manifest = read_manifest(folder);
      if (manifest.step != step) {
        throw Error("is of step " + std::to_string(manifest.step), manifest_file(folder).string());
      }
      verify_checkpoint(folder, manifest);
      choice.manifest = std::move(manifest);
      return choice;
    } catch (const Error& damage) {
      refused.why = damage.where() + " " + damage.problem();
      choice.refused.push_back(std::move(refused));
    }
  }
  return choice;
}

void flush_folder(const fs::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

void set_aside(const std::vector<RefusedCheckpoint>& refused) {
  for (const RefusedCheckpoint& checkpoint : refused) {
    if (!checkpoint.complete) {
      discard(checkpoint.folder);
      continue;
    }
    fs::path damaged = checkpoint.folder;
    damaged += ".damaged";
    std::error_code ignored;
    fs::remove_all(damaged, ignored);
    fs::rename(checkpoint.folder, damaged, ignored);
  }
}

void remove_old_checkpoints(const fs::path& checkpoints, std::int64_t keep) {
  std::int64_t complete = 0;
  for (const auto& [step, folder] : folders_in(checkpoints)) {
    if (complete >= keep) {
      discard(folder);
    } else if (fs::exists(manifest_file(folder))) {
      ++complete;
    }
  }
}

}  // namespace trainyard::executor
