// What a trainer writes of its run for people: a page of curves, and TensorBoard's event files.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "code_of.h"
#include "runtime/train/event_file.h"
#include "runtime/train/reporter.h"
#include "runtime/train/run_page.h"
#include "temporary_directory.h"

using namespace plimsoll;
using namespace plimsoll::train;

namespace {

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Program program_named(const char* name) {
  Program program{};
  program.model = name;
  program.arena_bytes = 1000;
  return program;
}

IterationResult iteration_at(int64_t iteration, double loss) {
  return {.iteration = iteration,
          .epoch = 0,
          .samples = 8,
          .loss = loss,
          .correct = 4,
          .labels = 8,
          .learning_rate = 0.5,
          .seconds = 0.25};
}

// The numbers of the first array under `name` of the page's data.
std::vector<std::string> column(const std::string& page, const std::string& name) {
  const size_t begin = page.find("\"" + name + "\":[", page.find("id=\"data\""));
  REQUIRE(begin != page.npos);
  std::istringstream fields(page.substr(begin + name.size() + 4, page.find(']', begin) - begin - name.size() - 4));
  std::vector<std::string> numbers;
  for (std::string field; std::getline(fields, field, ',');) numbers.push_back(field);
  return numbers;
}

// An independent reader of event files: TFRecord's framing with its checksums, and the protobuf fields below.
struct Record {
  double wall_time = 0;
  int64_t step = 0;
  std::string file_version;
  int64_t session_status = -1;
  std::map<std::string, float> scalars;
};

struct Wire {
  const unsigned char *at, *end;
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      REQUIRE(at < end);
      value |= static_cast<uint64_t>(*at & 0x7F) << shift;
      if (*at++ < 0x80) return value;
    }
  }
  template <class T>
  T fixed() {
    REQUIRE(end - at >= static_cast<ptrdiff_t>(sizeof(T)));
    T value;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  }
  Wire part() {
    const uint64_t count = varint();
    REQUIRE(count <= static_cast<uint64_t>(end - at));
    const Wire inner{at, at + count};
    at += count;
    return inner;
  }
  std::string text() const { return {reinterpret_cast<const char*>(at), static_cast<size_t>(end - at)}; }
};

// Bit by bit, as the polynomial is defined.
uint32_t slow_crc32c(const unsigned char* bytes, size_t count) {
  uint32_t word = ~0U;
  for (size_t i = 0; i < count; ++i) {
    word ^= bytes[i];
    for (int bit = 0; bit < 8; ++bit) word = word & 1 ? word >> 1 ^ 0x82F63B78U : word >> 1;
  }
  return ~word;
}

Record record_of(Wire event) {
  Record record;
  while (event.at < event.end) {
    switch (event.varint()) {
      case 1 << 3 | 1: record.wall_time = event.fixed<double>(); break;
      case 2 << 3 | 0: record.step = static_cast<int64_t>(event.varint()); break;
      case 3 << 3 | 2: record.file_version = event.part().text(); break;
      case 5 << 3 | 2: {
        Wire summary = event.part();
        while (summary.at < summary.end) {
          REQUIRE(summary.varint() == (1 << 3 | 2));
          Wire value = summary.part();
          REQUIRE(value.varint() == (1 << 3 | 2));
          const std::string tag = value.part().text();
          REQUIRE(value.varint() == (2 << 3 | 5));
          record.scalars[tag] = value.fixed<float>();
          CHECK(value.at == value.end);
        }
        break;
      }
      case 7 << 3 | 2: {
        Wire log = event.part();
        REQUIRE(log.varint() == 1 << 3);
        record.session_status = static_cast<int64_t>(log.varint());
        break;
      }
      default: FAIL("a field that this file does not write");
    }
  }
  return record;
}

std::vector<Record> records_of(const std::string& path) {
  const std::string file = contents_of(path);
  Wire wire{reinterpret_cast<const unsigned char*>(file.data()),
            reinterpret_cast<const unsigned char*>(file.data()) + file.size()};
  const auto checked = [](const unsigned char* from, size_t count, uint32_t masked) {
    const uint32_t word = slow_crc32c(from, count);
    CHECK(((word >> 15 | word << 17) + 0xA282EAD8U) == masked);
  };
  std::vector<Record> records;
  while (wire.at < wire.end) {
    const unsigned char* const head = wire.at;
    const auto count = wire.fixed<uint64_t>();
    checked(head, 8, wire.fixed<uint32_t>());
    REQUIRE(count < static_cast<uint64_t>(wire.end - wire.at));
    const unsigned char* const data = wire.at;
    wire.at += count;
    checked(data, count, wire.fixed<uint32_t>());
    records.push_back(record_of({data, data + count}));
  }
  return records;
}

}  // namespace

TEST_CASE("the checksum of event files is CRC-32C") {
  const auto of = [](std::string_view text) {
    return crc32c(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  };
  CHECK(of("") == 0);
  CHECK(of("123456789") == 0xE3069283U);            // the check value of its catalogue entry
  CHECK(of(std::string(32, '\0')) == 0x8A9136AAU);  // RFC 3720, B.4
  CHECK(of(std::string(32, '\xff')) == 0x62A8AB43U);
}

TEST_CASE("an event file holds its version, where the run starts, and a scalar for each curve") {
  const test::TemporaryDirectory directory;
  EventFile file(directory / "runs/first");
  file.start_at(3, 2 << 20);
  file.iteration(iteration_at(3, 1.5));
  file.iteration(iteration_at(300, NAN));
  file.evaluation(300, {.samples = 4, .loss = 0.75, .accuracy = 0.5});
  const std::vector<Record> early = records_of(file.path());  // readable while the run goes on
  file.close();
  const std::vector<Record> records = records_of(file.path());
  CHECK(early.size() == records.size());
  REQUIRE(records.size() == 5);
  CHECK(records[0].file_version == "brain.Event:2");
  CHECK(records[0].wall_time > 1.7e9);
  CHECK(records[1].session_status == 1);
  CHECK(records[1].step == 3);
  CHECK(records[2].step == 3);
  CHECK(records[2].scalars.at("loss/train") == 1.5F);
  CHECK(records[2].scalars.at("accuracy/train") == 0.5F);
  CHECK(records[2].scalars.at("learning_rate") == 0.5F);
  CHECK(records[2].scalars.at("samples_per_second") == 32.F);
  CHECK(records[2].scalars.at("memory/arena_MiB") == 2.F);
  CHECK(records[2].scalars.at("memory/process_MiB") > 0);
  CHECK(records[3].step == 300);
  CHECK(std::isnan(records[3].scalars.at("loss/train")));
  CHECK(records[4].scalars == std::map<std::string, float>{{"loss/test", 0.75F}, {"accuracy/test", 0.5F}});
  const std::string name = std::filesystem::path(file.path()).filename();
  CHECK(name.starts_with("events.out.tfevents.1"));
}

TEST_CASE("event files and pages that cannot be written are refused before the run") {
  const test::TemporaryDirectory directory;
  std::ofstream(directory / "file") << "x";
  CHECK(code_of([&] { EventFile file(directory / "file"); }) == Exit::unwritable_output);
  CHECK(code_of([&] { EventFile file(directory / "file/below"); }) == Exit::unwritable_output);
  CHECK(code_of([&] { RunPage page(directory / "none/run.html", program_named("net"), {}); }) ==
        Exit::unwritable_output);
  CHECK(code_of([&] { RunPage page(directory.path(), program_named("net"), {}); }) == Exit::unwritable_output);
}

TEST_CASE("the page of a run is whole from the start, and tells how far the run has come") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.html";
  RunPage page(path, program_named("<net>&</script>"), {.per_epoch = 2, .epochs = 3, .steps = 6});
  page.start_at(0, 1024);
  CHECK(contents_of(path).find("In epoch 1 of 3: no iteration yet.") != std::string::npos);
  page.iteration(iteration_at(0, 2));
  page.iteration(iteration_at(1, NAN));
  page.evaluation(1, {.samples = 4, .loss = 0.75, .accuracy = 0.5});
  page.close();
  const std::string stopped = contents_of(path);
  CHECK(stopped.find("Stopped in epoch 1 of 3, after 2 iterations: best test accuracy 50.00%, loss that is not a "
                     "number, 32 samples/s.") != std::string::npos);
  CHECK(stopped.find("Training of &lt;net&gt;&amp;&lt;/script&gt;") != std::string::npos);
  CHECK(stopped.find("<net>") == std::string::npos);
  CHECK(stopped.find("\"running\":false") != std::string::npos);
  CHECK(column(stopped, "loss") == std::vector<std::string>{"2", "null"});
  CHECK(column(stopped, "elapsed") == std::vector<std::string>{"0.25", "0.5"});
  CHECK(column(stopped, "accuracy") == std::vector<std::string>{"0.5", "0.5"});
  CHECK(stopped.ends_with("</html>\n"));
  for (const char* asks : {"http://", "https://", "src=", "href="}) CHECK(stopped.find(asks) == std::string::npos);
}

TEST_CASE("a run that is resumed keeps the curves of its page up to there") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.html";
  const RunPage::Length length{.per_epoch = 10, .epochs = 1, .steps = 10};
  {
    RunPage page(path, program_named("net"), length);
    page.start_at(0, 1024);
    for (int64_t i = 0; i < 6; ++i) page.iteration(iteration_at(i, static_cast<double>(10 - i)));
    page.evaluation(3, {.samples = 4, .loss = 0.75, .accuracy = 0.5});
    page.evaluation(5, {.samples = 4, .loss = 0.5});
  }  // as an error ends it: what is recorded is written
  CHECK(contents_of(path).find("Stopped in epoch 1 of 1, after 6 iterations") != std::string::npos);
  {
    RunPage page(path, program_named("net"), length);
    page.start_at(4, 1024);
    for (int64_t i = 4; i < 10; ++i) page.iteration(iteration_at(i, static_cast<double>(20 - i)));
    page.close();
  }
  const std::string text = contents_of(path);
  CHECK(column(text, "iteration") == std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
  CHECK(column(text, "loss") == std::vector<std::string>{"10", "9", "8", "7", "16", "15", "14", "13", "12", "11"});
  CHECK(column(text, "elapsed").back() == "2.5");
  CHECK(column(text.substr(text.find("\"evaluations\"") - 20).insert(0, "id=\"data\""), "iteration") ==
        std::vector<std::string>{"3"});
  CHECK(text.find("Trained for 10 iterations") != std::string::npos);
  // From the start again, or after what is no page: nothing of it.
  std::ofstream(path) << "hello";
  RunPage page(path, program_named("net"), length);
  page.start_at(4, 1024);
  page.iteration(iteration_at(4, 1));
  page.close();
  CHECK(column(contents_of(path), "iteration") == std::vector<std::string>{"4"});
}

TEST_CASE("of a long run neighbouring iterations are averaged, and none is lost") {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "run.html";
  RunPage page(path, program_named("net"), {.per_epoch = 30'000, .epochs = 1, .steps = 30'000});
  page.start_at(0, 1024);
  for (int64_t i = 0; i < 30'000; ++i) {
    page.iteration(iteration_at(i, static_cast<double>(i)));
    if (i % 10 == 0) page.evaluation(i, {.samples = 4, .loss = 0.75});
  }
  page.close();
  const std::string text = contents_of(path);
  CHECK(text.size() < 600'000);
  const std::vector<std::string> iterations = column(text, "iteration"), losses = column(text, "loss");
  CHECK(iterations.size() <= 3000);
  CHECK(iterations.size() >= 1500);
  CHECK(losses == iterations);
  CHECK(std::stod(iterations.front()) < 20);
  CHECK(std::stod(iterations.back()) > 29'900);
}
