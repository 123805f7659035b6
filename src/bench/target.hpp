// The API server of a bench: where objects are made and seen, embedded or real.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/asio.hpp"
#include "bench/figures.hpp"
#include "bench/scenario.hpp"

namespace cotrain::bench {

// What is seen of the object of that number.
struct bench_events {
    std::function<void(std::int64_t)> done;
    std::function<void(std::int64_t)> ended;
    std::function<void(std::int64_t)> updated;
    std::function<void(std::int64_t)> gone;
    // Not on a real server: the controller's first write for the first object; and how much of the time until an object
    // was done the server did not have a request for it in its hands.
    std::function<void()> first_write;
    std::function<void(std::chrono::nanoseconds)> own_time;
    std::function<void(std::string)> failed;  // nothing will be seen any more
};

// What changes of objects mean for a scenario. Each event is told once.
class follower {
   public:
    follower(const scenario& of, bench_events& to) : of_(of), to_(to) {}

    void made(std::int64_t number);
    // From now on the state that follows an update is awaited.
    void update_begins(std::int64_t number);
    [[nodiscard]] bool is_done(std::int64_t number) const;

    // An object that is there; `open` gives its content where that matters.
    template <class Open>
    void changed(const object_type& type, std::string_view name, Open open) {
        see(of_.done, type, name, &stage::done, to_.done, open);
        if (of_.ends) see(*of_.ends, type, name, &stage::ended, to_.ended, open);
        if (of_.updated) see(*of_.updated, type, name, &stage::updated, to_.updated, open);
    }
    void removed(const object_type& type, std::string_view name);

   private:
    struct stage {
        bool done = false;
        bool ended = false;
        bool updated = true;  // until it is asked for
    };
    template <class Open>
    void see(const awaited_state& what, const object_type& type, std::string_view name, bool stage::* flag,
             const std::function<void(std::int64_t)>& tell, Open open) {
        if (type != what.type) return;
        const std::int64_t number = what.name.number_of(name);
        if (number < 0 || number >= static_cast<std::int64_t>(stages_.size())) return;
        bool& is_so = stages_[static_cast<std::size_t>(number)].*flag;
        if (is_so || (what.needs_content() && !what.holds(open()))) return;
        is_so = true;
        tell(number);
    }

    const scenario& of_;
    bench_events& to_;
    std::vector<stage> stages_;
};

class bench_target {
   public:
    virtual ~bench_target() = default;
    // Ready for objects, with what has to be there before them.
    [[nodiscard]] virtual awaitable<base::result<>> start() = 0;
    [[nodiscard]] virtual awaitable<base::result<>> make(std::int64_t number) = 0;
    [[nodiscard]] virtual awaitable<base::result<>> update(std::int64_t number) = 0;
    [[nodiscard]] virtual awaitable<base::result<>> remove(std::int64_t number) = 0;
    // Where a controller finds it.
    [[nodiscard]] virtual std::string kubeconfig() const = 0;
    // The controller's requests since the last call; empty if the server cannot tell.
    [[nodiscard]] virtual std::map<std::string, bench_traffic> take_traffic() = 0;
    [[nodiscard]] virtual awaitable<void> stop() = 0;
};

// The scenario must outlive both. The kubeconfig of the embedded one is written into `dir`.
[[nodiscard]] std::unique_ptr<bench_target> make_box_target(asio::io_context& loop, const bench_options& options,
                                                            const scenario& of, std::string dir, bench_events to);
[[nodiscard]] std::unique_ptr<bench_target> make_live_target(asio::io_context& loop, const bench_options& options,
                                                             const scenario& of, bench_events to);

}  // namespace cotrain::bench
