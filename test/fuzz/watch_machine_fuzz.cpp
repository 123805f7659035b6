// Arbitrary answers in arbitrary order to the list/watch machine: it always knows what to do next and never hurries.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "watch/list_watch.hpp"

namespace {

using namespace cotrain;
using namespace cotrain::watch;

void require(bool good) {
    if (!good) std::abort();
}

base::error refusal(std::uint8_t byte) {
    constexpr int codes[] = {400, 401, 403, 404, 410, 422, 429, 500, 503};
    base::error e = base::make_error(base::errc::status, "refused");
    e.http_status = codes[byte % 9];
    if (byte & 0x80U) e.retry_after = std::chrono::milliseconds(byte * 1000);
    return e;
}

event_view event_of(std::uint8_t byte, std::string& version) {
    event_view e;
    e.type = static_cast<event_type>(byte % 6);
    version = std::to_string(byte);
    e.object.resource_version = {version, false};
    if (byte & 0x40U) e.object.annotations.initial_events_end = {"true", false};
    e.object.code = std::string_view(byte & 0x20U ? "410" : "500");
    return e;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    base::random_source random(size);
    list_watch machine{list_watch_options{}};
    moment now{std::chrono::hours(1)};
    const moment start = now;
    std::string version;
    list_watch::ask under_way = list_watch::ask::wait;
    unsigned requests = 0;
    unsigned good = 0;
    for (std::size_t i = 0; i + 1 < size; i += 2) {
        const auto a = machine.next(now, random);
        if (a.what == list_watch::ask::wait) {
            require(a.until > now && a.until <= now + std::chrono::seconds(60));
            now = a.until;
            continue;
        }
        if (a.what == list_watch::ask::abandon) under_way = list_watch::ask::wait;
        if (a.what == list_watch::ask::list || a.what == list_watch::ask::watch) {
            ++requests;
            under_way = a.what;
        }
        const std::uint8_t byte = data[i + 1];
        if (under_way == list_watch::ask::list) {
            if (data[i] % 2 == 0) {
                ++good;
                (void)machine.page_done({std::to_string(byte), byte % 3 == 0 ? "more" : "", 0});
            } else {
                machine.failed(refusal(byte), now);
            }
            under_way = list_watch::ask::wait;
        } else if (under_way == list_watch::ask::watch) {
            switch (data[i] % 4) {
                case 0:
                case 1:
                    ++good;
                    if (machine.event(event_of(byte, version), now).close) under_way = list_watch::ask::wait;
                    break;
                case 2:
                    machine.failed(refusal(byte), now);
                    under_way = list_watch::ask::wait;
                    break;
                default:
                    if (byte % 2 == 0) {
                        machine.ended(now);
                        under_way = list_watch::ask::wait;
                    } else {
                        now = std::max(now, std::min(a.until, now + std::chrono::hours(1)));
                    }
            }
        }
    }
    // Without anything good in between, requests slow down: a kind that is missing is asked for every 5 s.
    if (good == 0 && requests > 30) require(now - start > std::chrono::minutes(1));
    return 0;
}
