// Watch lines as an API server sends them: shapes taken from recordings, names and states filled in.
#pragma once

#include <string>
#include <string_view>

namespace cotrain::test {

struct sample_job {
    std::string ns = "team-a";
    std::string name = "torch-000123";
    std::string uid = "6f1c9a52-8a7e-4d0b-9d5c-0123456789ab";
    std::string resource_version = "81234";
    std::string runtime = "torch-distributed";
    bool suspend = false;
    std::string terminal{};  // "Complete", "Failed" or empty
    int active = 4;          // counts in jobsStatus
    int succeeded = 0;
};

// {"type": type, "object": object} with the line break left out.
[[nodiscard]] std::string watch_line(std::string_view type, std::string_view object);

// About 1 KB with managedFields, as `kubectl create` leaves it.
[[nodiscard]] std::string new_train_job(const sample_job& job);
// About 2.5 KB: env, resources, status, three managers.
[[nodiscard]] std::string running_train_job(const sample_job& job);
// About 6.5 KB, controlled by the job above.
[[nodiscard]] std::string job_set_of(const sample_job& job, std::string_view uid, std::string_view resource_version);

}  // namespace cotrain::test
