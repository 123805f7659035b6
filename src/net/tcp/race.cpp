// The order of addresses and the pace of attempts.
#include "net/tcp/race.hpp"

#include <algorithm>

namespace cotrain::net::tcp {

using boost::asio::ip::tcp;

std::vector<tcp::endpoint> take_turns(const std::vector<tcp::endpoint>& addresses) {
    if (addresses.empty()) return {};
    std::vector<tcp::endpoint> first;
    std::vector<tcp::endpoint> second;
    for (const tcp::endpoint& address : addresses)
        (address.protocol() == addresses.front().protocol() ? first : second).push_back(address);
    std::vector<tcp::endpoint> turns;
    turns.reserve(addresses.size());
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        if (i < first.size()) turns.push_back(first[i]);
        if (i < second.size()) turns.push_back(second[i]);
    }
    return turns;
}

race::race(std::size_t runners, std::chrono::milliseconds head_start)
    : runners_(runners), head_start_(std::max(head_start, head_start_min)) {}

std::optional<std::size_t> race::start(time_point now) {
    if (started_ == runners_ || now < due_) return std::nullopt;
    due_ = now + head_start_;
    ++running_;
    return started_++;
}

void race::failed(std::size_t runner) {
    --running_;
    if (runner + 1 == started_ || running_ == 0) due_ = time_point::min();
}

std::optional<time_point> race::wake() const {
    if (started_ == runners_) return std::nullopt;
    return due_;
}

}  // namespace cotrain::net::tcp
