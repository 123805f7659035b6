// Reads what belongs to one job when a page asks for it. Reads only, and never a Secret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "doc/tree.hpp"
#include "kube/client.hpp"

namespace cotrain::ui {

inline constexpr std::size_t pods_max = 10'000;  // of one job
inline constexpr std::size_t pods_page = 500;
inline constexpr std::size_t events_max = 250;          // about objects of the job's name
inline constexpr std::size_t pod_events_scanned = 500;  // of a namespace's, to find those about the job's Pods
inline constexpr std::size_t yaml_bytes_max = 1UL << 20U;

// Which object, as a page names it.
struct job_name {
    std::string ns;
    std::string name;
};

// Whether both are names that an API server could have given. Nothing else goes into paths and selectors.
[[nodiscard]] bool is_name(std::string_view text);

class reader {
   public:
    explicit reader(kube::client& api) : api_(api) {}

    // JSON. Errors carry the API server's code in http_status.
    [[nodiscard]] awaitable<base::result<std::string>> details(job_name of);
    [[nodiscard]] awaitable<base::result<std::string>> pods(job_name of);
    [[nodiscard]] awaitable<base::result<std::string>> events(job_name of);
    // Which children are there; what may not be read is left out.
    [[nodiscard]] awaitable<base::result<std::string>> children(job_name of);
    // YAML without managedFields. `which`: as in `children`.
    [[nodiscard]] awaitable<base::result<std::string>> object(std::string which, job_name of);

   private:
    [[nodiscard]] awaitable<base::result<void>> list_events(job_name of, std::string selector, std::uint32_t limit,
                                                            bool of_its_pods, struct event_list* into);

    kube::client& api_;
};

}  // namespace cotrain::ui
