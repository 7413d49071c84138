// The transformer operators of opsets 23 to 25.
//
//   Attention         ScaledDotProductAttention; with a softcap or large heads
//                     Softmax(cap(Q · scale · Kᵀ), masked) · V   queries that share a key head are rows of one product
//   RotaryEmbedding   Rotary; with angles that are computed, and perhaps trained:
//                     (a cos - b sin, a sin + b cos) of the halves a and b, or of even and odd elements
//   TensorScatter     Concat of the unchanged and the new parts
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
namespace attending {

struct Heads {
  int64_t queries = 0, keys = 0;              // number of heads
  int64_t rows = 0, columns = 0;              // length of the queries, of the keys
  int64_t size = 0, value_size = 0;           // of a head
};

Result<Heads> heads_of(const Writer& w) {
  const Dims *q = w.dims(0), *k = w.dims(1), *v = w.dims(2);
  const auto wrong = [&](const std::string& why) {
    const auto text = [](const Dims* dims) { return dims ? to_string(*dims) : std::string("unknown"); };
    return w.invalid(fmt::format("Q {}, K {} and V {}: {}", text(q), text(k), text(v), why));
  };
  if (!q || !k || !v || q->size() != k->size() || q->size() != v->size() || (q->size() != 3 && q->size() != 4))
    return wrong("each needs three or four dimensions");
  for (const Dims* dims : {q, k, v})
    for (size_t i = 1; i < dims->size(); ++i)
      if ((*dims)[i].batch) return wrong("the batch must be the first dimension");
  Heads heads;
  if (q->size() == 4) {
    heads = {.queries = (*q)[1].value,
             .keys = (*k)[1].value,
             .rows = (*q)[2].value,
             .columns = (*k)[2].value,
             .size = (*q)[3].value,
             .value_size = (*v)[3].value};
    if ((*v)[1] != (*k)[1] || (*v)[2] != (*k)[2] || (*k)[3] != (*q)[3]) return wrong("the shapes do not match");
  } else {
    heads = {.queries = w.integer("q_num_heads", 0),
             .keys = w.integer("kv_num_heads", 0),
             .rows = (*q)[1].value,
             .columns = (*k)[1].value};
    if (heads.queries < 1 || heads.keys < 1) return w.invalid("three dimensions need q_num_heads and kv_num_heads");
    if ((*q)[2].value % heads.queries != 0 || (*k)[2].value % heads.keys != 0 || (*v)[2].value % heads.keys != 0)
      return wrong(fmt::format("not divisible into {} and {} heads", heads.queries, heads.keys));
    heads.size = (*q)[2].value / heads.queries, heads.value_size = (*v)[2].value / heads.keys;
    if ((*k)[2].value / heads.keys != heads.size || (*v)[1] != (*k)[1]) return wrong("the shapes do not match");
  }
  if (heads.queries % heads.keys != 0)
    return wrong(fmt::format("{} heads of queries cannot share {} of keys", heads.queries, heads.keys));
  if ((*q)[0] != (*k)[0] || (*q)[0] != (*v)[0]) return wrong("they differ in the batch");
  return heads;
}

// [samples, heads, length, size]
std::string by_heads(Writer& w, size_t i, int64_t heads, int64_t length, int64_t size) {
  if (w.dims(i)->size() == 4) return w.input(i);
  return w.write("Transpose", {w.write("Reshape", {w.input(i)}, "shape", {-1, length, heads, size})}, "perm",
                 {0, 2, 1, 3});
}

// How many keys before and after its own position a query attends to; -1: all.
struct Sight {
  int64_t left = -1, right = -1;
  bool everything() const { return left < 0 && right < 0; }
};

Sight sight_of(const Writer& w) {
  Sight sight{.left = w.integer("left_window_size", -1), .right = w.integer("right_window_size", -1)};
  if (w.integer("is_causal", 0) != 0) sight.right = 0;
  return sight;
}

// 1 where a query attends to a key.
KnownValue seen_keys(const Heads& heads, const Sight& sight) {
  KnownValue seen{.element = ElementType::boolean, .dims = {{heads.rows}, {heads.columns}}};
  for (int64_t i = 0; i < heads.rows; ++i)
    for (int64_t j = 0; j < heads.columns; ++j)
      seen.ints.push_back({(sight.left < 0 || i - j <= sight.left) && (sight.right < 0 || j - i <= sight.right)});
  return seen;
}

Result<std::string> masked(Writer& w, const Heads& heads, std::string scores) {
  const auto hide = [&](const std::string& seen) {
    const std::string hidden = w.number(-std::numeric_limits<float>::infinity());
    scores = w.write("Where", {seen, scores, hidden});
  };
  if (const Sight sight = sight_of(w); !sight.everything()) {
    if (heads.rows > kKnownLimit / heads.columns)
      return w.unsupported(fmt::format("its mask of {} queries × {} keys is too large", heads.rows, heads.columns));
    hide(w.constant(seen_keys(heads, sight)));
  }
  if (w.input(3).empty()) return scores;
  const Dims* mask = w.dims(3);
  if (!mask || mask->empty() || mask->size() > 4) return w.invalid("its mask (input 3) does not match its scores");
  if (mask->back() != Dim{heads.columns} && mask->back() != Dim{1})
    return w.unsupported(fmt::format("its mask {} is shorter than the {} keys", to_string(*mask), heads.columns));
  if (w.element(3) == ElementType::f32) scores = w.write("Add", {scores, w.input(3)});
  else hide(w.input(3));
  return scores;
}

// Whether the operator with kernels of its own takes it (compiler/ops/scaleddotproductattention.cpp).
bool is_fused(const Writer& w, const Heads& heads) {
  if (w.real("softcap", 0) != 0 || heads.size > 256 || heads.value_size > 256) return false;
  if (w.input(3).empty()) return true;
  const Dims* mask = w.dims(3);
  if (!mask || mask->size() > 4) return false;
  const Dims scores = {w.x()[0], {heads.queries}, {heads.rows}, {heads.columns}};
  for (size_t i = 1; i <= mask->size(); ++i)
    if (const Dim dim = (*mask)[mask->size() - i]; dim != Dim{1} && dim != scores[4 - i]) return false;
  return true;
}

std::string fused(Writer& w, const Heads& heads, const std::string& q, const std::string& k, const std::string& v) {
  std::vector<std::string> inputs = {q, k, v};
  if (!w.input(3).empty()) inputs.push_back(w.input(3));
  const std::string y = w.write("ScaledDotProductAttention", inputs);
  w.set_real("scale", w.real("scale", 1 / std::sqrt(static_cast<float>(heads.size))));
  const Sight sight = sight_of(w);
  w.set_integer("left", sight.left);
  w.set_integer("right", sight.right);
  return y;
}

// Back to three dimensions, if the inputs have three.
Result<Nodes> finished(Writer& w, const Heads& heads) {
  if (w.x().size() == 3) {
    const std::string back = w.write("Transpose", {w.last()}, "perm", {0, 2, 1, 3});
    w.write("Reshape", {back}, "shape", {-1, heads.rows, heads.queries * heads.value_size});
  }
  return w.finish();
}

}  // namespace attending

Result<Nodes> attention(Writer& w) {
  for (size_t i = 4; i < 7; ++i)
    if (!w.input(i).empty())
      return w.unsupported(fmt::format("reads {} (input {}), which only inference uses",
                                       i < 6 ? "a cache of past keys and values" : "the lengths of sequences", i));
  for (size_t i = 1; i < 4; ++i)
    if (w.wants(i))
      return w.unsupported(
          fmt::format("its output {} ({}) is read, but not supported", i, i < 3 ? "present keys or values" : "scores"));
  PLIMSOLL_ASSIGN(const attending::Heads heads, attending::heads_of(w));
  std::string q = attending::by_heads(w, 0, heads.queries, heads.rows, heads.size);
  const std::string k = attending::by_heads(w, 1, heads.keys, heads.columns, heads.size),
                    v = attending::by_heads(w, 2, heads.keys, heads.columns, heads.value_size);
  if (attending::is_fused(w, heads)) {
    attending::fused(w, heads, q, k, v);
    return attending::finished(w, heads);
  }
  if (const float scale = w.real("scale", 1 / std::sqrt(static_cast<float>(heads.size))); scale != 1) {
    const std::string factor = w.number(scale);
    q = w.write("Mul", {q, factor});
  }
  const bool shared = heads.queries != heads.keys;
  const int64_t rows = heads.queries / heads.keys * heads.rows;
  if (shared) q = w.write("Reshape", {q}, "shape", {-1, heads.keys, rows, heads.size});
  std::string scores = w.write("MatMul", {q, w.write("Transpose", {k}, "perm", {0, 1, 3, 2})});
  if (shared) scores = w.write("Reshape", {scores}, "shape", {-1, heads.queries, heads.rows, heads.columns});
  if (const float cap = w.real("softcap", 0); cap != 0) {
    const std::string down = w.number(1 / cap), up = w.number(cap);
    scores = w.write("Mul", {w.write("Tanh", {w.write("Mul", {scores, down})}), up});
  }
  PLIMSOLL_ASSIGN(scores, attending::masked(w, heads, scores));
  std::string weights = w.write("Softmax", {scores});
  w.set_integer("axis", -1);
  if (shared) weights = w.write("Reshape", {weights}, "shape", {-1, heads.keys, rows, heads.columns});
  const std::string y = w.write("MatMul", {weights, v});
  if (shared) w.write("Reshape", {y}, "shape", {-1, heads.queries, heads.rows, heads.value_size});
  return attending::finished(w, heads);
}

Result<Nodes> rotary_embedding(Writer& w) {
  const bool flat = w.x().size() == 3;
  int64_t heads = flat ? w.integer("num_heads", 0) : 0;
  // onnxruntime allows none if the whole head is rotated.
  if (const Dims* table = w.dims(1); flat && w.node().newest && heads == 0 &&
                                     w.integer("rotary_embedding_dim", 0) == 0 && table && table->size() == 2 &&
                                     table->back().value > 0)
    heads = w.x()[2].value / (2 * table->back().value);
  if ((w.x().size() != 4 && !flat) || (flat && (heads < 1 || w.x()[2].value % heads != 0)))
    return w.invalid(fmt::format("its input is {} and num_heads is {}", to_string(w.x()), heads));
  const int64_t size = flat ? w.x()[2].value / heads : w.x()[3].value, given = w.integer("rotary_embedding_dim", 0),
                turned = given == 0 ? size : given, half = turned / 2;
  if (turned < 2 || turned % 2 != 0 || turned > size)
    return w.invalid(fmt::format("rotates {} of {} elements", turned, size));
  const bool by_position = !w.input(3).empty(), interleaved = w.integer("interleaved", 0) != 0;
  if (by_position && (!w.dims(3) || w.dims(3)->size() != 2))
    return w.unsupported(fmt::format("its positions (input 3) are {}; only one for each token is supported",
                                     w.dims(3) ? to_string(*w.dims(3)) : "unknown"));
  for (size_t i = 1; i < 3; ++i)
    if (!w.dims(i) || w.dims(i)->size() != (by_position ? 2 : 3) || w.dims(i)->back() != Dim{half})
      return w.invalid(fmt::format("input {} is {}, expected {} elements for each {}", i,
                                   w.dims(i) ? to_string(*w.dims(i)) : "unknown", half,
                                   by_position ? "position" : "token"));
  const auto angles = [&](size_t i) {
    const std::string table = by_position ? w.write("Gather", {w.input(i), w.input(3)}) : w.input(i);
    return w.write("Unsqueeze", {table}, "axes", {flat ? 2 : 1});
  };
  const std::string cos = angles(1), sin = angles(2);
  const std::string x =
      flat ? w.write("Reshape", {w.input(0)}, "shape", {-1, w.x()[1].value, heads, size}) : w.input(0);
  const std::vector<std::string> parts = turned < size ? w.split(x, 3, {turned, size - turned}) : std::vector{x};
  if (!w.is_computed(1) && !w.is_computed(2)) {
    std::string y = w.write("Rotary", {parts[0], cos, sin});
    w.set_integer("interleaved", interleaved ? 1 : 0);
    if (turned < size) y = w.concat({y, parts[1]}, 3);
    if (flat) w.write("Reshape", {y}, "shape", {-1, w.x()[1].value, heads * size});
    return w.finish();
  }
  std::string a, b;
  if (interleaved) {
    const auto every_second = [&](int64_t first) {
      const std::string from = w.integers({first}, {{1}}), to = w.integers({turned}, {{1}}),
                        axis = w.integers({3}, {{1}}), step = w.integers({2}, {{1}});
      return w.write("Slice", {parts[0], from, to, axis, step});
    };
    a = every_second(0), b = every_second(1);
  } else {
    const std::vector<std::string> halves = w.split(parts[0], 3, {half, half});
    a = halves[0], b = halves[1];
  }
  std::string real = w.write("Sub", {w.write("Mul", {a, cos}), w.write("Mul", {b, sin})});
  std::string imaginary = w.write("Add", {w.write("Mul", {a, sin}), w.write("Mul", {b, cos})});
  std::string y;
  if (interleaved) {
    real = w.write("Unsqueeze", {real}, "axes", {4}), imaginary = w.write("Unsqueeze", {imaginary}, "axes", {4});
    Ints shape = {-1};
    const int64_t tokens = w.x()[flat ? 1 : 2].value;
    for (const int64_t entry : flat ? Ints{tokens, heads, turned} : Ints{w.x()[1].value, tokens, turned})
      shape.push_back(entry);
    y = w.write("Reshape", {w.concat({real, imaginary}, 4)}, "shape", shape);
  } else {
    y = w.concat({real, imaginary}, 3);
  }
  if (turned < size) y = w.concat({y, parts[1]}, 3);
  if (flat) w.write("Reshape", {y}, "shape", {-1, w.x()[1].value, heads * size});
  return w.finish();
}

Result<Nodes> tensor_scatter(Writer& w) {
  const Dims *past = w.dims(0), *update = w.dims(1);
  const int64_t rank = past ? static_cast<int64_t>(past->size()) : 0, given = w.integer("axis", -2),
                axis = given < 0 ? given + rank : given;
  if (!past || !update || past->size() != update->size() || axis < 1 || axis >= rank)
    return w.invalid("the shapes of its cache and its update do not match");
  const int64_t all = (*past)[static_cast<size_t>(axis)].value, fresh = (*update)[static_cast<size_t>(axis)].value;
  int64_t first = 0;
  if (!w.input(2).empty()) {
    const KnownValue* places = w.known(2);
    if (!places || places->real() || places->ints.empty() ||
        std::any_of(places->ints.begin(), places->ints.end(), [&](Dim at) { return at != places->ints[0]; }) ||
        places->ints[0].batch)
      return w.unsupported("writes each sample at a different index (write_indices, input 2)");
    first = places->ints[0].value;
  }
  if (first < 0 || first + fresh > all)
    return w.unsupported(fmt::format("writes [{}, {}) of {}", first, first + fresh, all));
  const std::vector<std::string> old = w.split(w.input(0), axis, [&] {
    Ints lengths;
    for (const int64_t length : {first, fresh, all - first - fresh})
      if (length > 0) lengths.push_back(length);
    return lengths;
  }());
  std::vector<std::string> parts;
  if (first > 0) parts.push_back(old[0]);
  parts.push_back(w.input(1));
  if (first + fresh < all) parts.push_back(old.back());
  if (parts.size() == 1) w.write("Identity", {parts[0]});
  else w.concat(parts, axis);
  return w.finish();
}

}  // namespace plimsoll::spelling
