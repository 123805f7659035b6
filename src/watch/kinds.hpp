// What is used of a TrainJob's, a JobSet's and a runtime's spec and status, still as views.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "watch/object_view.hpp"

namespace cotrain::watch {

// Longer lists are refused: far above what the CRDs allow.
inline constexpr std::size_t conditions_max = 64;
inline constexpr std::size_t jobs_max = 4096;

enum class truth : std::uint8_t { no, yes, unknown };

struct condition_view {
    json_text type{};
    json_text reason{};
    json_text message{};
    json_text last_transition_time{};
    truth status = truth::unknown;
    std::int64_t observed_generation = 0;
};

// One entry of TrainJob's status.jobsStatus or JobSet's status.replicatedJobsStatus.
struct job_counts_view {
    json_text name{};
    std::int32_t ready = 0;
    std::int32_t succeeded = 0;
    std::int32_t failed = 0;
    std::int32_t active = 0;
    std::int32_t suspended = 0;
};

struct status_lists {
    std::vector<condition_view> conditions;
    std::vector<job_counts_view> jobs;
};

// Readers are reused from object to object, so that decoding allocates nothing in the long run.
class train_job_reader final : public part_reader {
   public:
    json_text runtime_name{};
    json_text runtime_group{};
    json_text runtime_kind{};
    json_text managed_by{};
    bool suspend = false;
    std::int64_t active_deadline_seconds = 0;  // 0: none
    std::int64_t ttl_seconds = -1;             // spec.ttlSecondsAfterFinished; -1: none
    json_text snapshot_hash{};                 // status.runtimeSnapshotHash
    status_lists status;

    void clear() override;
    void read_spec(json_cursor& in) override;
    void read_status(json_cursor& in) override;

   private:
    void read_runtime_ref(json_cursor& in);
};

class job_set_reader final : public part_reader {
   public:
    bool suspend = false;
    json_text terminal_state{};
    std::int32_t restarts = 0;
    status_lists status;

    void clear() override;
    void read_spec(json_cursor& in) override;
    void read_status(json_cursor& in) override;
};

// The names of all runtime classes that a runtime's pod templates mention, each once.
[[nodiscard]] base::result<std::vector<json_text>> decode_runtime_classes(const object_view& runtime);

}  // namespace cotrain::watch
