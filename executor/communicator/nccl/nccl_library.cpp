#include "executor/communicator/nccl/nccl_library.h"

#include <dlfcn.h>
#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/error.h"

namespace trainyard::executor {

namespace {

NcclResult from(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return NcclResult::kSuccess;
    case ncclInProgress:
      return NcclResult::kInProgress;
    case ncclUnhandledCudaError:
      return NcclResult::kCudaError;
    case ncclSystemError:
      return NcclResult::kSystemError;
    case ncclInvalidArgument:
      return NcclResult::kInvalidArgument;
    case ncclInvalidUsage:
      return NcclResult::kInvalidUsage;
    case ncclRemoteError:
      return NcclResult::kRemoteError;
    default:
      return NcclResult::kInternalError;
  }
}

ncclDataType_t data_type(DataType type) {
  switch (type) {
    case DataType::kFp32:
    case DataType::kTf32:
      return ncclFloat32;
    case DataType::kFp64:
      return ncclFloat64;
    case DataType::kFp16:
      return ncclFloat16;
    case DataType::kBf16:
      return ncclBfloat16;
    case DataType::kInt32:
      return ncclInt32;
    case DataType::kInt64:
      return ncclInt64;
    case DataType::kFp8:
      return ncclFloat8e4m3;
    case DataType::kMxFp8:
    case DataType::kNvFp4:
      break;
  }
  throw Error("NCCL has no tensors of type " + std::string(to_string(type)), "communicator",
              "communicate in fp32, bf16 or fp16");
}

ncclRedOp_t reduction(ReduceOp op) { return op == ReduceOp::kSum ? ncclSum : ncclMax; }

ncclComm_t native(NcclComm comm) { return static_cast<ncclComm_t>(comm.value); }
cudaStream_t native(void* stream) { return static_cast<cudaStream_t>(stream); }

class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}
  // It stays open: NCCL's threads may run to the end of the process.
  std::string file() const {
    Dl_info info{};
    void* symbol = dlsym(handle_, "ncclGetVersion");
    return symbol != nullptr && dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname
                                                                                        : "libnccl.so.2";
  }
  template <class Function>
  Function function_or_null(const char* name) const {
    return reinterpret_cast<Function>(dlsym(handle_, name));
  }
  template <class Function>
  Function function(const char* name) const {
    void* symbol = dlsym(handle_, name);
    if (symbol == nullptr) {
      throw Error(std::string("has no ") + name + ": it is too old", file(), "take NCCL 2.28.9 or later");
    }
    return reinterpret_cast<Function>(symbol);
  }

 private:
  void* handle_;
};

Library open_library() {
  std::vector<std::string> places{"libnccl.so.2", TRAINYARD_NCCL_FILE};
  if (const char* given = std::getenv("TRAINYARD_NCCL_LIBRARY")) {
    places = {given};
  }
  std::string why;
  for (const std::string& place : places) {
    if (void* handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return Library(handle);
    }
    why += (why.empty() ? "" : "; ") + std::string(dlerror());
  }
  throw Error("NCCL can't be opened: " + why, "libnccl.so.2",
              "install NVIDIA's libnccl2, or set TRAINYARD_NCCL_LIBRARY to the file");
}

// Each function has the type that nccl.h declares.
class LoadedNccl final : public NcclApi {
 public:
  explicit LoadedNccl(const Library& library)
      : where_(library.file()),
        get_version_(library.function<decltype(&ncclGetVersion)>("ncclGetVersion")),
        get_unique_id_(library.function<decltype(&ncclGetUniqueId)>("ncclGetUniqueId")),
        init_(library.function<decltype(&ncclCommInitRankConfig)>("ncclCommInitRankConfig")),
        split_(library.function<decltype(&ncclCommSplit)>("ncclCommSplit")),
        shrink_(library.function_or_null<decltype(&ncclCommShrink)>("ncclCommShrink")),
        get_async_error_(library.function<decltype(&ncclCommGetAsyncError)>("ncclCommGetAsyncError")),
        get_last_error_(library.function<decltype(&ncclGetLastError)>("ncclGetLastError")),
        finalize_(library.function<decltype(&ncclCommFinalize)>("ncclCommFinalize")),
        destroy_(library.function<decltype(&ncclCommDestroy)>("ncclCommDestroy")),
        abort_(library.function<decltype(&ncclCommAbort)>("ncclCommAbort")),
        group_start_(library.function<decltype(&ncclGroupStart)>("ncclGroupStart")),
        group_end_(library.function<decltype(&ncclGroupEnd)>("ncclGroupEnd")),
        all_reduce_(library.function<decltype(&ncclAllReduce)>("ncclAllReduce")),
        reduce_scatter_(library.function<decltype(&ncclReduceScatter)>("ncclReduceScatter")),
        all_gather_(library.function<decltype(&ncclAllGather)>("ncclAllGather")),
        broadcast_(library.function<decltype(&ncclBroadcast)>("ncclBroadcast")),
        reduce_(library.function<decltype(&ncclReduce)>("ncclReduce")),
        send_(library.function<decltype(&ncclSend)>("ncclSend")),
        recv_(library.function<decltype(&ncclRecv)>("ncclRecv")),
        register_(library.function<decltype(&ncclCommRegister)>("ncclCommRegister")),
        deregister_(library.function<decltype(&ncclCommDeregister)>("ncclCommDeregister")) {}

  int version() override {
    int version = 0;
    get_version_(&version);
    return version;
  }
  std::string where() const override { return where_; }

  NcclResult unique_id(NcclUniqueId& id) override {
    ncclUniqueId made;
    static_assert(sizeof made.internal == sizeof id.bytes);
    const ncclResult_t result = get_unique_id_(&made);
    std::copy(std::begin(made.internal), std::end(made.internal), id.bytes.begin());
    return from(result);
  }
  NcclResult init(NcclComm& made, int size, const NcclUniqueId& id, int rank) override {
    ncclUniqueId native_id;
    std::copy(id.bytes.begin(), id.bytes.end(), std::begin(native_id.internal));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.splitShare = 1;  // communicators split from it share its connections' memory
    return from(init_(as_target(made), size, native_id, rank, &config));
  }
  NcclResult split(NcclComm parent, std::optional<int> colour, int key, NcclComm& made) override {
    return from(split_(native(parent), colour.value_or(NCCL_SPLIT_NOCOLOR), key, as_target(made), nullptr));
  }
  std::optional<NcclResult> shrink(NcclComm parent, const std::vector<int>& without, NcclComm& made) override {
    if (shrink_ == nullptr) {
      return std::nullopt;
    }
    std::vector<int> left_out = without;
    return from(shrink_(native(parent), left_out.data(), static_cast<int>(left_out.size()), as_target(made), nullptr,
                        NCCL_SHRINK_ABORT));
  }
  NcclResult state(NcclComm comm) override {
    ncclResult_t state = ncclSuccess;
    const ncclResult_t result = get_async_error_(native(comm), &state);
    return from(result == ncclSuccess ? state : result);
  }
  std::string last_error(NcclComm comm) override {
    const char* text = get_last_error_(native(comm));
    return text == nullptr ? "" : text;
  }
  NcclResult finalize(NcclComm comm) override { return from(finalize_(native(comm))); }
  NcclResult destroy(NcclComm comm) override { return from(destroy_(native(comm))); }
  NcclResult abort(NcclComm comm) override { return from(abort_(native(comm))); }
  NcclResult group_start() override { return from(group_start_()); }
  NcclResult group_end() override { return from(group_end_()); }

  NcclResult all_reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, NcclComm comm,
                        void* stream) override {
    return from(all_reduce_(in, out, count, data_type(type), reduction(op), native(comm), native(stream)));
  }
  NcclResult reduce_scatter(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, NcclComm comm,
                            void* stream) override {
    return from(reduce_scatter_(in, out, count, data_type(type), reduction(op), native(comm), native(stream)));
  }
  NcclResult all_gather(const void* in, void* out, std::size_t count, DataType type, NcclComm comm,
                        void* stream) override {
    return from(all_gather_(in, out, count, data_type(type), native(comm), native(stream)));
  }
  NcclResult broadcast(const void* in, void* out, std::size_t count, DataType type, int root, NcclComm comm,
                       void* stream) override {
    return from(broadcast_(in, out, count, data_type(type), root, native(comm), native(stream)));
  }
  NcclResult reduce(const void* in, void* out, std::size_t count, DataType type, ReduceOp op, int root, NcclComm comm,
                    void* stream) override {
    return from(reduce_(in, out, count, data_type(type), reduction(op), root, native(comm), native(stream)));
  }
  NcclResult send(const void* data, std::size_t bytes, int peer, NcclComm comm, void* stream) override {
    return from(send_(data, bytes, ncclUint8, peer, native(comm), native(stream)));
  }
  NcclResult recv(void* data, std::size_t bytes, int peer, NcclComm comm, void* stream) override {
    return from(recv_(data, bytes, ncclUint8, peer, native(comm), native(stream)));
  }
  NcclResult register_memory(NcclComm comm, void* data, std::size_t bytes, void*& handle) override {
    return from(register_(native(comm), data, bytes, &handle));
  }
  NcclResult unregister_memory(NcclComm comm, void* handle) override { return from(deregister_(native(comm), handle)); }

 private:
  // NCCL may write it after the call has returned, so it gets our own.
  static ncclComm_t* as_target(NcclComm& made) { return reinterpret_cast<ncclComm_t*>(&made.value); }

  std::string where_;
  decltype(&ncclGetVersion) get_version_;
  decltype(&ncclGetUniqueId) get_unique_id_;
  decltype(&ncclCommInitRankConfig) init_;
  decltype(&ncclCommSplit) split_;
  decltype(&ncclCommShrink) shrink_;
  decltype(&ncclCommGetAsyncError) get_async_error_;
  decltype(&ncclGetLastError) get_last_error_;
  decltype(&ncclCommFinalize) finalize_;
  decltype(&ncclCommDestroy) destroy_;
  decltype(&ncclCommAbort) abort_;
  decltype(&ncclGroupStart) group_start_;
  decltype(&ncclGroupEnd) group_end_;
  decltype(&ncclAllReduce) all_reduce_;
  decltype(&ncclReduceScatter) reduce_scatter_;
  decltype(&ncclAllGather) all_gather_;
  decltype(&ncclBroadcast) broadcast_;
  decltype(&ncclReduce) reduce_;
  decltype(&ncclSend) send_;
  decltype(&ncclRecv) recv_;
  decltype(&ncclCommRegister) register_;
  decltype(&ncclCommDeregister) deregister_;
};

}  // namespace

std::optional<int> nccl_header_version() { return NCCL_VERSION_CODE; }

std::shared_ptr<NcclApi> open_nccl() { return std::make_shared<LoadedNccl>(open_library()); }

}  // namespace trainyard::executor
