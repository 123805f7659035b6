// From the line of a watch to the store, as an informer takes it in: bytes a second, allocations, and what foreign
// objects leave behind. Every event goes through the decoder, the list/watch machine, the projector and the store.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "../test/support/counted_memory.cpp"  // bench programs see the rooms, not the tests' library
#include "../test/support/watch_samples.cpp"   // bench programs see the rooms, not the tests' library
#include "watch/intake.hpp"
#include "watch/list_watch.hpp"

namespace {

using namespace cotrain;
using namespace cotrain::watch;

constexpr std::string_view version = "100000000";

struct deaf final : listener {
    std::uint64_t heard = 0;
    void changed(const object_change&) override { ++heard; }
    void removed(kind, const object_record&) override { ++heard; }
    void synced(kind) override {}
    void missing(kind) override {}
};

struct following {
    text_table texts;
    object_store store{texts};
    deaf to;
    intake in;
    list_watch machine{{}};
    base::random_source random{1};
    moment now{};
    event_view event{};

    explicit following(kind of) : in(of, store, texts, to, base::null_logger()) {
        static_cast<void>(machine.next(now, random));
        take(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{)"
             R"("k8s.io/initial-events-end":"true"}}}})");
    }
    void take(std::string_view line) {
        if (!decode_event(line, event, in.parts())) throw std::runtime_error("not decoded");
        if (machine.event(event, now).event == watcher_event::apply) in.upsert(event.object);
    }
};

// Counts the object's version up, in place: nine digits of it.
void count_up(std::string& line, std::size_t last_digit) {
    for (std::size_t i = last_digit; ++line[i] > '9'; --i) line[i] = '0';
}

// Version after version of an object in which nothing that matters changes.
void unchanged(benchmark::State& state, kind of, const std::string& object) {
    following t(of);
    std::string line = test::watch_line("MODIFIED", object);
    const std::size_t last_digit = line.find(version) + version.size() - 1;
    t.take(line);
    const std::uint64_t heard = t.to.heard;
    const std::uint64_t before = test::allocations();
    for (auto _ : state) {
        count_up(line, last_digit);
        t.take(line);
    }
    const std::uint64_t after = test::allocations();
    if (t.to.heard != heard) throw std::runtime_error("something changed");
    const auto bytes = static_cast<double>(state.iterations()) * static_cast<double>(line.size());
    state.counters["GB_per_s"] = benchmark::Counter(bytes / 1e9, benchmark::Counter::kIsRate);
    state.counters["event_bytes"] = static_cast<double>(line.size());
    state.counters["allocations"] = static_cast<double>(after - before) / static_cast<double>(state.iterations());
}

// Goal 14: recorded shapes of 1 KB and 2.5 KB, managedFields included.
void new_train_job(benchmark::State& state) {
    unchanged(state, kind::train_job, test::new_train_job({.resource_version = std::string(version)}));
}
void running_train_job(benchmark::State& state) {
    unchanged(state, kind::train_job, test::running_train_job({.resource_version = std::string(version)}));
}
void job_set(benchmark::State& state) {
    unchanged(state, kind::job_set, test::job_set_of({}, "0a1b2c3d-0000-4000-8000-000000000001", version));
}
// Goal 4: 10 KB that are nobody's business.
void foreign_config_map(benchmark::State& state) {
    std::string object =
        R"({"metadata":{"name":"c","namespace":"n","uid":"u","resourceVersion":"100000000"},"data":{"k":")";
    unchanged(state, kind::config_map, object.append(10'000, 'x').append(R"("}})"));
}

double resident_bytes() {
    long pages = 0;
    long resident = 0;
    std::FILE* const f = std::fopen("/proc/self/statm", "r");
    if (f == nullptr || std::fscanf(f, "%ld %ld", &pages, &resident) != 2) throw std::runtime_error("no statm");
    std::fclose(f);
    return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Goal 9: what 30,000 Secrets of others leave behind.
void foreign_secrets(benchmark::State& state) {
    for (auto _ : state) {
        following t(kind::secret);
        std::string line;
        char name[64];
        ::malloc_trim(0);
        const double before = resident_bytes();
        for (int n = 0; n < 30'000; ++n) {
            const int length = std::snprintf(name, sizeof name, "sh.helm.release.v1.app-%05d", n);
            line.assign(R"({"type":"ADDED","object":{"kind":"PartialObjectMetadata","metadata":{"name":")")
                .append(name, static_cast<std::size_t>(length))
                .append(
                    R"(","namespace":"apps","uid":"00000000-0000-4000-8000-000000000000","resourceVersion":"77"}}})");
            t.take(line);
        }
        if (t.store.size() != 0) throw std::runtime_error("a foreign Secret was kept");
        state.counters["resident_KiB"] = (resident_bytes() - before) / 1024.0;
    }
}

BENCHMARK(new_train_job);
BENCHMARK(running_train_job);
BENCHMARK(job_set);
BENCHMARK(foreign_config_map);
BENCHMARK(foreign_secrets)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
