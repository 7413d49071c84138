// General Einsum, two operands at a time:
//
//   letters of one operand only                          ReduceSum
//   letters of both that are summed                      Transpose, Reshape, MatMul, Reshape, Transpose
//   no such letter                                       Transpose, Unsqueeze, Mul
//   a letter twice in one operand (a diagonal)           Transpose, Reshape, Slice by steps of n + 1
//   a dimension of 1 where others have n                 Reshape without it: the product broadcasts
//
// If only one operand has samples, they stay a separate leading dimension: MatMul broadcasts the other operand.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/network/simplify/spelling_writer.h"

namespace plimsoll::spelling {
namespace {

bool is_among(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

std::string without(const std::string& letters, const std::string& those) {
  std::string rest;
  for (const char c : letters)
    if (!is_among(those, c)) rest += c;
  return rest;
}

struct Term {
  std::string name = {}, letters = {};
};

class EinsumWriter {
 public:
  EinsumWriter(Writer& w, std::map<char, Dim> sizes) : w_(w), sizes_(std::move(sizes)) {}

  // Takes the diagonal of each repeated letter, and removes dimensions of 1 that broadcast to other terms (`narrow`).
  Result<Term> plain(Term term, const std::string& narrow) {
    if (!narrow.empty()) {
      const std::string kept = without(term.letters, narrow);
      term = {reshaped(term.name, kept, true), kept};
    }
    for (size_t i = 0; i < term.letters.size(); ++i) {
      const char c = term.letters[i];
      if (std::count(term.letters.begin(), term.letters.end(), c) > 1) {
        if (sizes_.at(c).batch) return w_.unsupported("takes a diagonal over the batch");
        term = diagonal(term, c);
        i = static_cast<size_t>(-1);
      }
    }
    return term;
  }

  // Sums over the letters that no other term and not the result needs.
  Term summed(const Term& term, const std::string& wanted) {
    Ints axes;
    std::string kept;
    for (size_t i = 0; i < term.letters.size(); ++i)
      if (is_among(wanted, term.letters[i])) kept += term.letters[i];
      else axes.push_back(static_cast<int64_t>(i));
    if (axes.empty()) return term;
    std::vector<std::string> inputs = {term.name};
    if (w_.opset() >= 13) inputs.push_back(w_.integers(axes, {{static_cast<int64_t>(axes.size())}}));
    const std::string sum = w_.write("ReduceSum", inputs);
    if (w_.opset() < 13) w_.set("axes", axes);
    w_.set_integer("keepdims", 0);
    return {sum, kept};
  }

  Term arranged(const Term& term, const std::string& to) {
    if (term.letters == to) return term;
    Ints order;
    for (const char c : to) order.push_back(static_cast<int64_t>(term.letters.find(c)));
    return {w_.write("Transpose", {term.name}, "perm", order), to};
  }

  // For two terms without letters that are needed nowhere else.
  Term product(const Term& a, const Term& b, const std::string& wanted) {
    std::string both, contracted;
    for (const char c : a.letters)
      if (is_among(b.letters, c)) (is_among(wanted, c) ? both : contracted) += c;
    if (contracted.empty()) return outer(a, b);
    const std::string shared = both + contracted;
    std::string rows = without(a.letters, shared), columns = without(b.letters, shared);
    // The samples, if only one operand has them.
    const auto taken = [&](std::string& letters) {
      const auto found = std::find_if(letters.begin(), letters.end(), [&](char c) { return sizes_.at(c).batch; });
      if (found == letters.end() || (both.empty() && letters.size() == 1)) return std::string();
      const std::string samples(1, *found);
      letters.erase(found);
      return samples;
    };
    const std::string in_front = taken(rows), behind = taken(columns);
    const std::string left =
                          merged(arranged(a, in_front + both + rows + contracted), {in_front + both, rows, contracted}),
                      right = merged(arranged(b, behind + both + contracted + columns),
                                     {behind + both, contracted, columns});
    const std::string made = w_.write("MatMul", {left, right});
    const std::string letters = in_front + behind + both + rows + columns;
    return {reshaped(made, letters, rows.size() != 1 || columns.size() != 1), letters};
  }

 private:
  // a · b without summed letters.
  Term outer(const Term& a, const Term& b) {
    const std::string letters = a.letters + without(b.letters, a.letters);
    return {w_.write("Mul", {stretched(a, letters), stretched(b, letters)}), letters};
  }

  // Over the last two axes, which have that letter: in [.., n, n] as [.., n · n], every (n + 1)th element is on the
  // diagonal.
  Term diagonal(const Term& term, char c) {
    const size_t second = term.letters.rfind(c), first = term.letters.rfind(c, second - 1);
    Ints order, shape;
    std::string letters;
    for (size_t i = 0; i < term.letters.size(); ++i) {
      if (i == first || i == second) continue;
      order.push_back(static_cast<int64_t>(i));
      shape.push_back(entry(term.letters[i]));
      letters += term.letters[i];
    }
    order.insert(order.end(), {static_cast<int64_t>(first), static_cast<int64_t>(second)});
    const int64_t n = sizes_.at(c).value;
    shape.push_back(n * n);
    const std::string turned =
        std::is_sorted(order.begin(), order.end()) ? term.name : w_.write("Transpose", {term.name}, "perm", order);
    const std::string flat = w_.write("Reshape", {turned}, "shape", shape);
    const Dims one = {{1}};
    const Ints axis = {static_cast<int64_t>(letters.size())};
    const std::string starts = w_.integers({0}, one), ends = w_.integers({n * n}, one), axes = w_.integers(axis, one),
                      steps = w_.integers({n + 1}, one);
    return {w_.write("Slice", {flat, starts, ends, axes, steps}), letters + c};
  }

  // With a dimension of 1 for each letter that the term does not have.
  std::string stretched(const Term& term, const std::string& letters) {
    std::string own;
    Ints axes;
    for (size_t i = 0; i < letters.size(); ++i)
      if (is_among(term.letters, letters[i])) own += letters[i];
      else axes.push_back(static_cast<int64_t>(i));
    const Term turned = arranged(term, own);
    if (axes.empty()) return turned.name;
    if (w_.opset() < 13) return w_.write("Unsqueeze", {turned.name}, "axes", axes);
    const std::string list = w_.integers(axes, {{static_cast<int64_t>(axes.size())}});
    return w_.write("Unsqueeze", {turned.name, list});
  }

  // The first group's letters unchanged, each other group merged into one dimension.
  std::string merged(const Term& term, const std::vector<std::string>& groups) {
    if (groups[1].size() == 1 && groups[2].size() == 1) return term.name;
    Ints shape;
    for (const char c : groups[0]) shape.push_back(entry(c));
    for (size_t i = 1; i < groups.size(); ++i) {
      int64_t size = 1;
      for (const char c : groups[i]) size *= sizes_.at(c).value;
      const bool of_samples =
          std::any_of(groups[i].begin(), groups[i].end(), [&](char c) { return sizes_.at(c).batch; });
      shape.push_back(of_samples ? -1 : size);
    }
    return w_.write("Reshape", {term.name}, "shape", shape);
  }

  std::string reshaped(const std::string& name, const std::string& letters, bool differs) {
    if (!differs) return name;
    Ints shape;
    for (const char c : letters) shape.push_back(entry(c));
    return w_.write("Reshape", {name}, "shape", shape);
  }

  // -1: the samples; at most one dimension is.
  int64_t entry(char c) const { return sizes_.at(c).batch ? -1 : sizes_.at(c).value; }

  Writer& w_;
  std::map<char, Dim> sizes_;
};

// "...ij" with a separate letter for each dimension that the dots represent, counted from the last: Z, Y, X, …
Result<std::string> spelled_dots(const Writer& w, const std::string& letters, size_t rank) {
  const size_t dots = letters.find("...");
  if (dots == std::string::npos) return letters;
  if (letters.size() - 3 > rank) return w.invalid(fmt::format("'{}' has more letters than dimensions", letters));
  const size_t count = rank - (letters.size() - 3);
  std::string between;
  for (size_t i = count; i-- > 0;) between += static_cast<char>('Z' - i);
  return letters.substr(0, dots) + between + letters.substr(dots + 3);
}

}  // namespace

Result<Nodes> einsum(Writer& w, const std::string& equation) {
  const auto invalid = [&] { return w.invalid(fmt::format("'{}' does not match its inputs", equation)); };
  const size_t arrow = equation.find("->");
  std::vector<Term> terms;
  std::map<char, Dim> sizes;
  std::string all, dots;
  size_t at = 0;
  for (size_t i = 0; i < w.node().inputs.size(); ++i) {
    const size_t end = std::min({equation.find(',', at), arrow, equation.size()});
    const Dims* dims = w.dims(i);
    if (!dims || at > equation.size()) return invalid();
    const std::string given = equation.substr(at, end - at);
    PLIMSOLL_ASSIGN(const std::string letters, spelled_dots(w, given, dims->size()));
    if (letters.size() != dims->size()) return invalid();
    for (size_t j = 0; j < letters.size(); ++j) {
      const auto [size, fresh] = sizes.emplace(letters[j], (*dims)[j]);
      if (fresh || size->second == (*dims)[j] || (*dims)[j] == Dim{1}) continue;
      if (size->second != Dim{1}) return invalid();
      size->second = (*dims)[j];
    }
    terms.push_back({w.input(i), letters});
    all += letters;
    at = end + 1;
  }
  for (char c = 'A'; c <= 'Z'; ++c)
    if (equation.find("...") != std::string::npos && is_among(all, c)) dots += c;
  std::string y;
  if (arrow != std::string::npos) {
    y = equation.substr(arrow + 2);
    if (const size_t place = y.find("..."); place != std::string::npos)
      y = y.substr(0, place) + dots + y.substr(place + 3);
  } else {  // the letters that occur once, in alphabetical order
    std::string sorted = without(all, dots);
    std::sort(sorted.begin(), sorted.end());
    y = dots;
    for (const char c : sorted)
      if (std::count(sorted.begin(), sorted.end(), c) == 1) y += c;
  }
  for (const char c : y)
    if (!sizes.contains(c) || std::count(y.begin(), y.end(), c) != 1) return invalid();
  EinsumWriter writer(w, sizes);
  for (size_t i = 0; i < terms.size(); ++i) {
    std::string narrow;
    for (size_t j = 0; j < terms[i].letters.size(); ++j) {
      const char c = terms[i].letters[j];
      if ((*w.dims(i))[j] != (*w.dims(i))[terms[i].letters.find(c)]) return invalid();
      if ((*w.dims(i))[j] != sizes.at(c) && !is_among(narrow, c)) narrow += c;
    }
    PLIMSOLL_ASSIGN(terms[i], writer.plain(terms[i], narrow));
  }
  const auto wanted = [&](size_t from) {
    std::string letters = y;
    for (size_t i = from; i < terms.size(); ++i) letters += terms[i].letters;
    return letters;
  };
  Term so_far = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    const std::string later = wanted(i + 1);
    const Term left = writer.summed(so_far, later + terms[i].letters),
               right = writer.summed(terms[i], later + left.letters);
    so_far = writer.product(left, right, later);
  }
  so_far = writer.arranged(writer.summed(so_far, y), y);
  if (so_far.name == w.input(0)) w.write("Identity", {so_far.name});
  return w.finish();
}

}  // namespace plimsoll::spelling
