// What the stores cost: nanoseconds an event, and resident bytes a job, active and finished.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "../test/support/watch_samples.cpp"  // bench programs see the rooms, not the tests' library
#include "watch/intake.hpp"
#include "watch/object_store.hpp"

namespace {

using namespace cotrain;
using namespace cotrain::watch;

test::sample_job job_of(int n, bool finished) {
    test::sample_job job;
    char text[64];
    std::snprintf(text, sizeof text, "llama-finetune-%06d", n);
    job.name = text;
    std::snprintf(text, sizeof text, "%08x-8a7e-4d0b-9d5c-0123456789ab", n);
    job.uid = text;
    job.resource_version = std::to_string(100'000 + n);
    if (finished) {
        job.terminal = "Complete";
        job.active = 0;
        job.succeeded = 4;
    }
    return job;
}

// The TrainJob and its JobSet, decoded from their lines as a watch brings them.
struct cluster {
    text_table texts;
    object_store jobs{texts};
    object_store sets{texts};
    projector project;
    train_job_parts job_parts;
    job_set_parts set_parts;
    object_view object;

    void add(int n, bool finished) {
        const test::sample_job job = job_of(n, finished);
        const std::string line = test::running_train_job(job);
        if (!decode_object(line, object, &job_parts)) throw std::runtime_error("not decoded");
        jobs.upsert(project.train_job(object, job_parts));
        char id[64];
        std::snprintf(id, sizeof id, "%08x-8a7e-4d0b-9d5c-ba9876543210", n);
        const std::string set = test::job_set_of(job, id, job.resource_version);
        if (!decode_object(set, object, &set_parts)) throw std::runtime_error("not decoded");
        sets.upsert(project.job_set(object, set_parts));
    }
};

double resident_bytes() {
    long pages = 0;
    long resident = 0;
    std::FILE* const f = std::fopen("/proc/self/statm", "r");
    if (f == nullptr || std::fscanf(f, "%ld %ld", &pages, &resident) != 2) throw std::runtime_error("no statm");
    std::fclose(f);
    return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

void resident_per_job(benchmark::State& state) {
    const bool finished = state.range(0) != 0;
    const auto count = static_cast<int>(state.range(1));
    for (auto _ : state) {
        ::malloc_trim(0);
        const double before = resident_bytes();
        cluster c;
        for (int n = 0; n < count; ++n) c.add(n, finished);
        const double after = resident_bytes();
        state.counters["resident_per_job"] = (after - before) / count;
        state.counters["store_per_job"] =
            static_cast<double>(c.jobs.memory_bytes() + c.sets.memory_bytes() + c.texts.memory_bytes()) / count;
    }
}

// Goal 9: 100,000 jobs, 10,000 of them active.
void resident_mixed(benchmark::State& state) {
    for (auto _ : state) {
        ::malloc_trim(0);
        const double before = resident_bytes();
        cluster c;
        for (int n = 0; n < 100'000; ++n) c.add(n, n % 10 != 0);
        state.counters["resident_MiB"] = (resident_bytes() - before) / 1048576.0;
    }
}

void upsert(benchmark::State& state, bool changes) {
    cluster c;
    test::sample_job job = job_of(1, false);
    const std::string first = test::running_train_job(job);
    job.active = changes ? 3 : 4;
    job.resource_version = "100002";
    const std::string second = test::running_train_job(job);
    object_view a;
    object_view b;
    train_job_parts parts_a;
    train_job_parts parts_b;
    if (!decode_object(first, a, &parts_a) || !decode_object(second, b, &parts_b)) throw std::runtime_error("bad");
    a.resource_version = b.resource_version;
    for (auto _ : state) {
        benchmark::DoNotOptimize(c.jobs.upsert(c.project.train_job(a, parts_a)));
        benchmark::DoNotOptimize(c.jobs.upsert(c.project.train_job(b, parts_b)));
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 2);
}

void upsert_unchanged(benchmark::State& state) { upsert(state, false); }
void upsert_changed(benchmark::State& state) { upsert(state, true); }

BENCHMARK(upsert_unchanged);
BENCHMARK(upsert_changed);
BENCHMARK(resident_per_job)
    ->ArgNames({"finished", "jobs"})
    ->Args({0, 10'000})
    ->Args({1, 100'000})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(resident_mixed)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
