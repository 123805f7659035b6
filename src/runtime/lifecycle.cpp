// One table of reasons: it also tells which conditions are ours.
#include "runtime/lifecycle.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "api/names.hpp"

namespace cotrain::runtime {

namespace {

namespace names = api::names;
using api::condition_status;

struct phase_texts {
    std::string_view type;
    std::string_view when_true, message_true;
    std::string_view when_false, message_false;
};

constexpr std::array phases{phase_texts{names::pending, "WaitingForPods", "no pod of the TrainJob is active yet",
                                        "PodsCreated", "the TrainJob has or had active pods"},
                            phase_texts{names::running, "PodsActive", "pods of the TrainJob are active", "NoPodsActive",
                                        "no pod of the TrainJob is active"},
                            phase_texts{names::ready, "AllPodsReady", "all pods of the TrainJob are ready or done",
                                        "NotAllPodsReady", "not all pods of the TrainJob are ready"}};

void set(api::condition_list& list, const phase_texts& p, bool holds, api::seconds_time now) {
    api::condition c;
    c.type = p.type;
    c.status = holds ? condition_status::yes : condition_status::no;
    c.reason = holds ? p.when_true : p.when_false;
    c.message = holds ? p.message_true : p.message_false;
    api::set_condition(list, std::move(c), now);
}

int place_of(const api::condition& c) {
    const auto found = std::ranges::find(phases, std::string_view(c.type), &phase_texts::type);
    if (found == phases.end()) return 2;
    return c.status == condition_status::yes ? 1 : 0;
}

}  // namespace

void set_lifecycle(api::train_job_status& status, const api::job_set* own, bool suspended, api::seconds_time now) {
    const bool over =
        api::is_true(status.conditions, names::complete) || api::is_true(status.conditions, names::failed);
    const bool lives = !over && !suspended;
    const bool active = lives && own != nullptr && own->any_active();
    const bool started = active || (own != nullptr && own->any_done());
    set(status.conditions, phases[0], lives && !started, now);
    set(status.conditions, phases[1], active, now);
    set(status.conditions, phases[2], lives && own != nullptr && own->all_ready(), now);
    std::ranges::stable_sort(status.conditions, {}, place_of);
}

void drop_lifecycle(api::train_job_status& status) {
    std::erase_if(status.conditions, [](const api::condition& c) {
        const auto found = std::ranges::find(phases, std::string_view(c.type), &phase_texts::type);
        return found != phases.end() && (c.reason == found->when_true || c.reason == found->when_false);
    });
}

}  // namespace cotrain::runtime
