// What a bench makes, and how it sees that a controller is done with it: from a file, or TrainJobs as options say.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "bench/options.hpp"
#include "doc/tree.hpp"

namespace cotrain::bench {

inline constexpr std::string_view scenario_api_version = "bench.cotrain.dev/v1alpha1";
inline constexpr std::string_view number_mark = "{n}";

// Names of objects by their numbers: "bench-{n}".
class numbered_name {
   public:
    numbered_name() = default;
    // The text has one mark.
    explicit numbered_name(std::string_view text);

    [[nodiscard]] std::string of(std::int64_t number) const;
    // -1: no name of a number.
    [[nodiscard]] std::int64_t number_of(std::string_view name) const;
    // The object that a request is about, or whose child, by its path; -1: none.
    [[nodiscard]] std::int64_t number_in_path(std::string_view path) const;

   private:
    std::string before_;
    std::string after_;
};

struct object_type {
    std::string api_version;
    std::string kind;
    bool operator==(const object_type&) const = default;
};

// A state of the object of a number, or of another that is made for it.
struct awaited_state {
    object_type type{};
    numbered_name name{};
    std::vector<std::string> conditions{};  // any of them is True…
    std::string path{};                     // …or this field is there, and
    std::optional<std::string> value{};     // says so. Neither: the object is there

    [[nodiscard]] bool holds(doc::ref object) const;
    [[nodiscard]] bool needs_content() const { return !conditions.empty() || !path.empty(); }
};

// Somebody else's controller, in its place: so long after such an object came its status is patched.
struct played_kind {
    object_type type{};
    std::chrono::milliseconds after{};
    std::string status;  // as JSON
};

struct scenario {
    std::string title;                       // "1000 torch jobs of 4 nodes" without the number
    std::vector<std::string> definitions{};  // CustomResourceDefinitions, as JSON
    std::vector<std::string> before{};       // objects that are there when the controller comes, as JSON
    object_type type{};
    numbered_name name{};
    std::string object{};  // as JSON, with marks
    awaited_state done{};
    std::optional<awaited_state> ends{};  // is waited for before the next phase, and not measured
    std::string update{};                 // a merge patch as JSON, with marks; empty: none is made
    std::optional<awaited_state> updated{};
    bool removes = false;  // each is deleted in the end, and awaited to be gone
    std::vector<played_kind> players{};
    bool train_jobs = false;  // our own definitions are there, and a player of JobSets

    [[nodiscard]] std::string object_of(std::int64_t number) const;
    [[nodiscard]] std::string update_of(std::int64_t number) const;
};

// TrainJobs whose JobSets are awaited. `ends`: their ends, too; `completes`: and JobSets are said to be completed.
[[nodiscard]] scenario train_job_scenario(const bench_load& load, bool ends, bool completes = false);
// Of `--scenario FILE`, with more definitions. Errors begin with file and line.
[[nodiscard]] base::result<scenario> read_scenario(const std::string& file, const std::vector<std::string>& crds);

}  // namespace cotrain::bench
