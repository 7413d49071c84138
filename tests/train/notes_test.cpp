// What saved models say about their training, and what --predict writes with it.
#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>

#include "runtime/train/error.h"
#include "runtime/train/model_files.h"
#include "runtime/train/model_notes.h"
#include "runtime/train/prediction_file.h"
#include "tests/train/code_of.h"
#include "temporary_directory.h"

using namespace plimsoll;
using namespace plimsoll::train;
using plimsoll::test::TemporaryDirectory;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What --out PATH has of two samples with three scores each.
std::string predicted(const std::string& path, Program program, Names names) {
  program.output.desc = f32({4, 3});
  const auto file = open_predictions(path, program, 2, std::move(names));
  file->add(std::vector<float>{0, std::log(3.0F), std::log(4.0F)});
  file->add(std::vector<float>{5, 5, -100});
  file->commit();
  return text_of(path);
}

}  // namespace

TEST_CASE("notes come back as they were written, and nothing else is taken for notes") {
  const ModelNotes notes{{"mean", "0.5,0.25"}, {"classes", std::string(300, 'x') + "\nZürich"}, {"empty", ""}};
  const std::string bytes = serialized(notes);
  REQUIRE(parsed_notes(bytes));
  CHECK(*parsed_notes(bytes) == notes);
  CHECK(parsed_notes("") == ModelNotes{});
  for (size_t end = 1; end < bytes.size(); ++end) {
    const auto cut = parsed_notes(std::string_view(bytes).substr(0, end));
    CHECK((!cut || cut->size() < notes.size()));
  }
  std::string other = bytes;
  other[other.find("plimsoll")] = 'P';
  CHECK(!parsed_notes(other));
  CHECK(!parsed_notes(bytes + "x"));
  CHECK(!parsed_notes("\x72\xff\xff\xff\xff\xff\xff\xff\xff"));
  CHECK(note(notes, "mean") == "0.5,0.25");
  CHECK(note(notes, "std").empty());
  CHECK(class_names(notes) == std::vector<std::string>{std::string(300, 'x'), "Zürich"});
}

TEST_CASE("a model with notes is the model, and one with anything else at its end is not") {
  const TemporaryDirectory place;
  const std::string path = place / "model.onnx", notes = serialized({{"classes", "cat\ndog"}});
  Program program{.model = "net", .generator = "test", .model_bytes = 100};
  const auto opened = [&](const std::string& rest) {
    std::ofstream(path, std::ios::binary) << std::string(100, 'm') << rest;
    return code_of([&] { open_model(program, path); });
  };
  CHECK(opened("") == Exit::ok);
  CHECK(read_notes(program, path).empty());
  CHECK(opened("rubbish") == Exit::invalid_model);
  CHECK(opened(notes.substr(1)) == Exit::invalid_model);
  CHECK(opened(notes) == Exit::ok);
  CHECK(class_names(read_notes(program, path)) == std::vector<std::string>{"cat", "dog"});
}

TEST_CASE("a run's notes are of its data and its evaluation") {
  const Dataset data{.name = "images:x",
                     .columns = {},
                     .classes = {"cat", "two\nlines"},
                     .preparation = {{"source", "images"}, {"mean", "0.5"}}};
  const ModelNotes without = notes_of_run(data, {}, 40);
  CHECK(without == ModelNotes{{"source", "images"}, {"mean", "0.5"}, {"classes", "cat\ntwo lines"}});
  const ModelNotes with = notes_of_run(data, {.samples = 80, .loss = 0.25, .accuracy = 0.875}, 40);
  CHECK(note(with, "eval_accuracy") == "0.875");
  CHECK(note(with, "eval_loss") == "0.25");
  CHECK(note(with, "iterations") == "40");
}

TEST_CASE("predictions name files, classes and probabilities") {
  const TemporaryDirectory place;
  const Program classes{.model = "net", .generator = "test", .classes = 3},
      numbers{.model = "net", .generator = "test"};
  const Program answers{.model = "net", .generator = "test", .counts_correct = true};
  const Names names{.of_sample = [](int64_t i) { return i == 0 ? "a,b.png" : "c.png"; },
                    .of_class = {"cat", "dog", "a \"bird\""}};
  CHECK(predicted(place / "a.csv", classes, names) ==
        "file,class,probability,cat,dog,\"a \"\"bird\"\"\"\n"
        "\"a,b.png\",\"a \"\"bird\"\"\",0.5,0.125,0.375,0.5\n"
        "c.png,cat,0.5,0.5,0.5,1.25328e-46\n");
  CHECK(predicted(place / "a.txt", classes, names) ==
        "a,b.png: a \"bird\" 50.0 %, dog 37.5 %, cat 12.5 %\nc.png: cat 50.0 %, dog 50.0 %, a \"bird\" 0.0 %\n");
  CHECK(predicted(place / "b.csv", classes, {}) ==
        "file,class,probability,0,1,2\n0,2,0.5,0.125,0.375,0.5\n1,0,0.5,0.5,0.5,1.25328e-46\n");
  CHECK(predicted(place / "c.csv", answers, {}) == "file,0,1,2\n0,0.5,0.75,0.8\n1,0.993307,0.993307,3.72008e-44\n");
  CHECK(predicted(place / "d.csv", numbers, {}) == "file,0,1,2\n0,0,1.09861,1.38629\n1,5,5,-100\n");
  CHECK(predicted(place / "e.txt", numbers, {}).starts_with("0: 0 0, 1 1.09861, 2 1.38629\n"));
  const std::string npy = predicted(place / "f.npy", classes, names);
  CHECK(npy.size() % 64 == 24);

  Program pixels = classes;
  pixels.output.desc = f32({4, 3, 8, 8});
  CHECK(code_of([&] { open_predictions(place / "g.csv", pixels, 2, {}); }) == Exit::usage);
  CHECK(code_of([&] { open_predictions(place / "g.npy", pixels, 2, {}); }) == Exit::ok);
}
