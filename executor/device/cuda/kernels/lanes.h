// Lanes: several neighbouring elements of a row as one value, so that a kernel body written for one element moves
// 16 bytes at a time on a GPU.
//
// A body asks its group for `each(n, [&](auto i) { store(out + i, load(a + i) * 2.0f); })`. On the CPU i is a number.
// Here it is a Pack, an index of V neighbours: `a + i` names them, load() returns Lanes, arithmetic works by lane and
// store() writes them. V is 16 bytes of the narrowest element type; wider types take two accesses.
#pragma once

#include <cstdint>

#include "executor/kernel/bfloat16.h"
#include "executor/kernel/exponential.h"
#include "executor/kernel/host_device.h"

namespace trainyard::executor {

template <int V>
struct Pack {
  std::int64_t first = 0;  // a multiple of V
};

template <int V>
struct Lanes {
  float at[V];
};

// V elements in memory, from an address that is a multiple of their size or of 16.
template <class T, int V>
struct PackedElements {
  T* first;
};

template <class T, int V>
TRAINYARD_HOST_DEVICE inline PackedElements<T, V> operator+(T* base, Pack<V> pack) {
  return {base + pack.first};
}

// The shape that the compiler moves by one access (two where V elements are 32 bytes).
template <class T, int V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) Chunk {
  T element[V];
};

template <class T, int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> load(PackedElements<T, V> from) {
  const auto chunk = *reinterpret_cast<const Chunk<T, V>*>(from.first);
  Lanes<V> lanes;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    lanes.at[i] = load(&chunk.element[i]);
  }
  return lanes;
}

template <class T, int V>
TRAINYARD_HOST_DEVICE inline void store(PackedElements<T, V> to, const Lanes<V>& lanes) {
  Chunk<T, V> chunk;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    store(&chunk.element[i], lanes.at[i]);
  }
  *reinterpret_cast<Chunk<T, V>*>(to.first) = chunk;
}

template <class T, int V>
TRAINYARD_HOST_DEVICE inline void store(PackedElements<T, V> to, float value) {
  Lanes<V> lanes;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    lanes.at[i] = value;
  }
  store(to, lanes);
}

template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> value_at(Pack<V> i, std::int64_t place, float value) {
  Lanes<V> lanes;
#pragma unroll
  for (int lane = 0; lane < V; ++lane) {
    lanes.at[lane] = i.first + lane == place ? value : 0.0f;
  }
  return lanes;
}

template <int V, class Function>
TRAINYARD_HOST_DEVICE inline Lanes<V> by_lane(const Lanes<V>& x, Function function) {
  Lanes<V> result;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    result.at[i] = function(x.at[i]);
  }
  return result;
}

template <int V, class Function>
TRAINYARD_HOST_DEVICE inline Lanes<V> by_lane(const Lanes<V>& x, const Lanes<V>& y, Function function) {
  Lanes<V> result;
#pragma unroll
  for (int i = 0; i < V; ++i) {
    result.at[i] = function(x.at[i], y.at[i]);
  }
  return result;
}

template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator+(const Lanes<V>& x, const Lanes<V>& y) {
  return by_lane(x, y, [](float a, float b) { return a + b; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator-(const Lanes<V>& x, const Lanes<V>& y) {
  return by_lane(x, y, [](float a, float b) { return a - b; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator*(const Lanes<V>& x, const Lanes<V>& y) {
  return by_lane(x, y, [](float a, float b) { return a * b; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator+(const Lanes<V>& x, float y) {
  return by_lane(x, [y](float a) { return a + y; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator+(float x, const Lanes<V>& y) {
  return by_lane(y, [x](float b) { return x + b; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator-(const Lanes<V>& x, float y) {
  return by_lane(x, [y](float a) { return a - y; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator-(float x, const Lanes<V>& y) {
  return by_lane(y, [x](float b) { return x - b; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator*(const Lanes<V>& x, float y) {
  return by_lane(x, [y](float a) { return a * y; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator*(float x, const Lanes<V>& y) {
  return by_lane(y, [x](float b) { return x * b; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator/(float x, const Lanes<V>& y) {
  return by_lane(y, [x](float b) { return x / b; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> operator-(const Lanes<V>& x) {
  return by_lane(x, [](float a) { return -a; });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> exponential(const Lanes<V>& x) {
  return by_lane(x, [](float a) { return exponential(a); });
}
template <int V>
TRAINYARD_HOST_DEVICE inline Lanes<V> sigmoid(const Lanes<V>& x) {
  return by_lane(x, [](float a) { return sigmoid(a); });
}

}  // namespace trainyard::executor
