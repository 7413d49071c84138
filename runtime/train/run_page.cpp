#include "runtime/train/run_page.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>
#include <utility>

#include "runtime/train/counted.h"
#include "runtime/train/error.h"
#include "runtime/train/file.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {
namespace {

constexpr size_t kMostPoints = 3000;  // of each curve; even
constexpr const char* kDataBegin = "<script type=\"application/json\" id=\"data\">";
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// JSON has no NaN.
std::string number_or_null(double value) { return std::isfinite(value) ? formatted("%.9g", value) : "null"; }

std::string in_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&') safe += "&amp;";
    else if (c == '<') safe += "&lt;";
    else if (c == '>') safe += "&gt;";
    else safe += c;
  }
  return safe;
}

// A JSON string without "<", so it cannot end the script element that contains it.
std::string in_script(std::string_view text) {
  std::string safe = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == '<') {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      safe += escape;
    } else {
      safe += c;
    }
  }
  return safe + "\"";
}

// The array of key `name`, as written by this file; null becomes NaN. Empty if there is none.
std::vector<double> numbers_under(std::string_view json, std::string_view name) {
  std::vector<double> numbers;
  const std::string key = "\"" + std::string(name) + "\":[";
  const size_t found = json.find(key);
  if (found == json.npos) return numbers;
  const char* at = json.data() + found + key.size();
  const char* const end = json.data() + json.size();
  while (at < end && *at != ']') {
    double value = kNoNumber;
    if (std::string_view(at, static_cast<size_t>(end - at)).starts_with("null")) {
      at += 4;
    } else {
      const auto [after, error] = std::from_chars(at, end, value);
      if (error != std::errc()) return {};
      at = after;
    }
    numbers.push_back(value);
    if (at < end && *at == ',') ++at;
  }
  return numbers;
}

constexpr const char* kColumnNames[] = {"iteration", "elapsed", "loss", "accuracy", "rate", "speed", "resident"};

}  // namespace

void RunPage::Point::add(const Point& other) {
  for (size_t i = 0; i < kColumns; ++i) {
    sum[i] += other.sum[i];
    numbers[i] += other.numbers[i];
  }
  iterations += other.iterations;
}

double RunPage::Point::mean(Column column) const {
  return numbers[column] == 0 ? kNoNumber : sum[column] / static_cast<double>(numbers[column]);
}

RunPage::RunPage(std::string path, const Program& program, const Length& length)
    : path_(std::move(path)), model_(program.model), length_(length), planned_bytes_(program.arena_bytes) {
  { const OutputFile begun(path_); }
  points_.reserve(kMostPoints);
  tests_.reserve(kMostPoints);
}

RunPage::~RunPage() {
  if (!open_) return;
  try {
    replace_file(false);
  } catch (const std::exception&) {  // the error that ended the run is reported instead
  }
}

void RunPage::start_at(int64_t iteration, int64_t allocated_bytes) {
  allocated_bytes_ = allocated_bytes;
  next_iteration_ = iteration;
  if (iteration > 0) read_earlier(iteration);
  // Otherwise the page of an earlier run would be taken for this run's until the first epoch ends.
  replace_file(!finished());
  written_at_ = now_seconds();
}

void RunPage::read_earlier(int64_t before) {
  std::string page;
  try {
    const InputFile file(path_);
    page.resize(static_cast<size_t>(file.bytes()));
    file.read(0, reinterpret_cast<std::byte*>(page.data()), file.bytes());
  } catch (const TrainerError&) {
    return;  // no earlier page
  }
  const size_t begin = page.find(kDataBegin);
  if (begin == page.npos) return;
  const std::string_view json = std::string_view(page).substr(begin);
  const std::vector<double> per_point = numbers_under(json, "per_point");
  if (per_point.size() != 1 || !(per_point[0] >= 1) || !(per_point[0] < 1e15)) return;
  std::array<std::vector<double>, kColumns> columns;
  for (size_t i = 0; i < kColumns; ++i) {
    columns[i] = numbers_under(json, kColumnNames[i]);
    if (columns[i].size() != columns[0].size()) return;
  }
  per_point_ = static_cast<int64_t>(per_point[0]);
  const auto each = static_cast<double>(per_point_);
  for (size_t at = 0; at < std::min(columns[0].size(), kMostPoints); ++at) {
    // Only points whose iterations are all before: the others are repeated.
    if (!(columns[kIteration][at] + (each - 1) / 2 < static_cast<double>(before) - 0.25)) break;
    Point point{.iterations = per_point_};
    for (size_t i = 0; i < kColumns; ++i) {
      if (!std::isfinite(columns[i][at])) continue;
      point.sum[i] = columns[i][at] * each;
      point.numbers[i] = per_point_;
    }
    elapsed_ = std::isfinite(columns[kElapsed][at]) ? columns[kElapsed][at] : elapsed_;
    points_.push_back(point);
  }
  const size_t tests = json.find("\"evaluations\":");
  if (tests == json.npos) return;
  const std::string_view of_tests = json.substr(tests);
  const std::vector<double> iterations = numbers_under(of_tests, "iteration"),
                            elapsed = numbers_under(of_tests, "elapsed"), losses = numbers_under(of_tests, "loss"),
                            accuracies = numbers_under(of_tests, "accuracy");
  if (elapsed.size() != iterations.size() || losses.size() != iterations.size() ||
      accuracies.size() != iterations.size())
    return;
  for (size_t i = 0; i < std::min(iterations.size(), kMostPoints - 1); ++i)
    if (iterations[i] >= 0 && iterations[i] < static_cast<double>(before))
      tests_.push_back({static_cast<int64_t>(iterations[i]), elapsed[i], losses[i], accuracies[i]});
}

void RunPage::iteration(const IterationResult& result) {
  open_ = true;
  next_iteration_ = result.iteration + 1;
  elapsed_ += result.seconds;
  if (points_.size() == kMostPoints && points_.back().iterations == per_point_) {
    for (size_t i = 0; i < kMostPoints / 2; ++i) {
      Point both = points_[2 * i];
      both.add(points_[2 * i + 1]);
      points_[i] = both;
    }
    points_.resize(kMostPoints / 2);
    per_point_ *= 2;
  }
  if (points_.empty() || points_.back().iterations >= per_point_) points_.emplace_back();
  const double accuracy =
      result.correct >= 0 ? result.correct / static_cast<double>(std::max<int64_t>(1, result.labels)) : kNoNumber;
  const std::array<double, kColumns> values = {static_cast<double>(result.iteration),
                                               elapsed_,
                                               result.loss,
                                               accuracy,
                                               result.learning_rate,
                                               static_cast<double>(result.samples) / std::fmax(result.seconds, 1e-9),
                                               static_cast<double>(peak_resident_bytes())};
  Point one{.iterations = 1};
  for (size_t i = 0; i < kColumns; ++i)
    if (std::isfinite(values[i])) one.sum[i] = values[i], one.numbers[i] = 1;
  points_.back().add(one);
}

void RunPage::evaluation(int64_t iteration, const Evaluation& result) {
  if (tests_.size() == kMostPoints) {  // every other one, and the last
    for (size_t i = 0; i < kMostPoints / 2; ++i) tests_[i] = tests_[2 * i + 1];
    tests_.resize(kMostPoints / 2);
  }
  tests_.push_back({iteration, elapsed_, result.loss, result.accuracy >= 0 ? result.accuracy : kNoNumber});
}

std::string RunPage::verdict(bool running) const {
  std::string text;
  const int64_t epoch = std::min(length_.epochs, std::max<int64_t>(0, next_iteration_ - 1) / length_.per_epoch + 1);
  const std::string place = "epoch " + std::to_string(epoch) + " of " + std::to_string(length_.epochs);
  if (finished()) text = "Trained for " + counted(next_iteration_, "iteration");
  else if (running) text = "In " + place;
  else text = "Stopped in " + place + ", after " + counted(next_iteration_, "iteration");
  if (points_.empty()) return text + ": no iteration yet.";
  double best_accuracy = kNoNumber, best_loss = kNoNumber;
  for (const Test& test : tests_) {
    best_accuracy = std::fmax(best_accuracy, test.accuracy);
    best_loss = std::fmin(best_loss, test.loss);
  }
  if (std::isfinite(best_accuracy))
    text += ": best test accuracy " + formatted("%.2f%%", 100 * best_accuracy) + ", loss ";
  else if (std::isfinite(best_loss)) text += ": best test loss " + formatted("%.4g", best_loss) + ", loss ";
  else text += ": loss ";
  // The loss of a single iteration is noisy: the mean of the last twentieth.
  Point last;
  for (size_t i = points_.size() - std::max<size_t>(1, points_.size() / 20); i < points_.size(); ++i)
    last.add(points_[i]);
  const double loss = last.mean(kLoss), speed = last.mean(kSpeed);
  text += std::isfinite(loss) ? formatted("%.4g", loss) : "that is not a number";
  if (std::isfinite(speed)) text += ", " + formatted("%.0f", speed) + " samples/s";
  return text + ".";
}

std::string RunPage::data(bool running) const {
  std::string json =
      "{\"by\":\"train --html\",\"running\":" + std::string(running ? "true" : "false") +
      ",\"runs\":[{\"name\":" + in_script(model_) + ",\"iterations\":" + std::to_string(next_iteration_) +
      ",\"averaged\":" + std::to_string(per_point_) + ",\"per_point\":[" + std::to_string(per_point_) +
      "],\"planned\":" + std::to_string(planned_bytes_) + ",\"allocated\":" + std::to_string(allocated_bytes_);
  for (size_t i = 0; i < kColumns; ++i) {
    json += ",\"" + std::string(kColumnNames[i]) + "\":[";
    for (size_t at = 0; at < points_.size(); ++at)
      json += (at == 0 ? "" : ",") + number_or_null(points_[at].mean(static_cast<Column>(i)));
    json += "]";
  }
  const auto of_tests = [&](const char* name, auto value) {
    json += "\"" + std::string(name) + "\":[";
    for (size_t i = 0; i < tests_.size(); ++i) json += (i == 0 ? "" : ",") + number_or_null(value(tests_[i]));
    json += "]";
  };
  json += ",\"evaluations\":{";
  of_tests("iteration", [](const Test& test) { return static_cast<double>(test.iteration); });
  json += ",";
  of_tests("elapsed", [](const Test& test) { return test.elapsed; });
  json += ",";
  of_tests("loss", [](const Test& test) { return test.loss; });
  json += ",";
  of_tests("accuracy", [](const Test& test) { return test.accuracy; });
  return json + "}}]}";
}

std::string RunPage::text(bool running) const {
  const std::string title = "Training of " + in_html(model_);
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
         "script-src 'unsafe-inline'; img-src data:\">\n<title>" +
         title + "</title>\n<style>\n" + kRunPageStyles +
         "</style>\n</head>\n<body>\n<header><svg class=\"mark\" viewBox=\"0 0 46 46\" aria-hidden=\"true\"><circle "
         "cx=\"23\" "
         "cy=\"23\" r=\"14\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"3.4\"/><path d=\"M2 23h42\" "
         "stroke=\"var(--budget)\" stroke-width=\"3.4\"/></svg><div class=\"grow\"><h1>" +
         title + "</h1><p class=\"verdict\">" + in_html(verdict(running)) +
         "</p></div><button id=\"theme\" class=\"controls\" title=\"light or dark\">◐</button></header>\n" +
         kRunPageBody + kDataBegin + data(running) + "</script>\n<script>\n\"use strict\";\n" + kRunPageScripts +
         "</script>\n</body>\n</html>\n";
}

void RunPage::replace_file(bool running) {
  const std::string page = text(running);
  OutputFile file(path_);
  file.write(0, reinterpret_cast<const std::byte*>(page.data()), static_cast<int64_t>(page.size()));
  file.commit();
}

void RunPage::write() {
  // Writing and syncing a page may take longer than a short epoch.
  constexpr double kBetween = 1;
  if (const double now = now_seconds(); now - written_at_ < kBetween) return;
  else written_at_ = now;
  try {
    replace_file(!finished());
  } catch (const std::exception&) {  // close() reports it if it persists
  }
}

void RunPage::close() {
  open_ = false;
  replace_file(false);
}

}  // namespace plimsoll::train
